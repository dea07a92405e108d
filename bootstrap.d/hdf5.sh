# SPDX-License-Identifier: BSD-3-Clause
# hdf5.sh - where HDF5 >= 1.14 comes from. Sourced by bootstrap.
# The first that fits the chosen MPI is taken: HDF5_DIR; the system's; one that bootstrap built
# before; the distribution's package, when its archive has a new one; else HDF5 is built from the
# source package of a newer suite of the same distribution.
#
# In $cache:  hdf5-<version>-<mpi>/  installed, complete as soon as it has this name
#             hdf5-<version>-src/    its sources, likewise; HDF5's own test suites need them
#             .work-*/               of a build that is under way or was killed
# A finished directory gets its name by one rename, so nothing half-built is ever found, and a lock
# keeps two runs apart: the second one waits and then finds what the first one built.
# shellcheck shell=sh
# shellcheck disable=SC2015  # "a && b || c": c is meant for either failure
# shellcheck disable=SC2034,SC2154  # variables that bootstrap and packages.sh read and set

# hdf5_fits CFLAGS LIBS: a program compiles and links with that HDF5, it is new enough, parallel
# just when we have MPI, and no second MPI comes in with it
hdf5_fits() {
    [ "$mpi" = none ] || [ -n "$mpicc" ] || return 1
    fits_cc=${mpicc:-${CC:-$(command -v gcc || command -v cc || echo clang)}}
    fits_dir=$(mktemp -d "$cache/.fits-XXXXXX") || return 1
    cat >"$fits_dir/t.c" <<'END'
#include <hdf5.h>
#if !H5_VERSION_GE(1, 14, 0)
#error too old
#endif
#if defined(H5_HAVE_PARALLEL) != WANT_PARALLEL
#error parallel or serial, the other is wanted
#endif
int main(void) { return H5open() < 0; }
END
    fits_rc=0
    [ "$mpi" = none ] && fits_parallel=0 || fits_parallel=1
    # shellcheck disable=SC2086  # compilers and flags are lists of words
    $fits_cc -DWANT_PARALLEL=$fits_parallel $1 -o "$fits_dir/t" "$fits_dir/t.c" $2 \
        >"$cache/log/fits.log" 2>&1 || fits_rc=1
    fits_libs=$(LD_LIBRARY_PATH=${3:-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ldd "$fits_dir/t" 2>/dev/null)
    rm -rf "$fits_dir"
    case $mpi:$fits_libs in
    *"not found"* | mpich:*libmpi.so.[2-9]0* | openmpi:*libmpich* | openmpi:*libmpi.so.12*) return 1 ;;
    esac
    return "$fits_rc"
}

# prefix_fits DIR: sets hdf5_dir when HDF5 below DIR fits
prefix_fits() {
    for prefix_lib in "$1/lib" "$1/lib64"; do
        [ -e "$1/include/hdf5.h" ] && [ -e "$prefix_lib/libhdf5.so" ] || continue
        hdf5_fits "-I$1/include" "-L$prefix_lib -lhdf5" "$prefix_lib" || continue
        hdf5_dir=$(cd "$1" && pwd)
        return
    done
    return 1
}

# The system's: through pkg-config, else from where h5pcc stands. hdf5_dir stays empty when the
# parts do not lie below one directory; configure then finds them by the same pkg-config module.
system_fits() {
    has pkg-config || return 1
    if [ "$mpi" = none ]; then set -- hdf5-serial hdf5; else set -- "hdf5-$mpi" hdf5; fi
    for module; do
        pkg-config --atleast-version=1.14 "$module" 2>/dev/null || continue
        module_libs=$(pkg-config --libs "$module") && module_cflags=$(pkg-config --cflags "$module")
        for word in $module_libs "-L$(pkg-config --variable=prefix "$module")"; do
            case $word in
            -L?*) prefix_fits "${word#-L}" || prefix_fits "${word#-L}/.." || continue ;;
            *) continue ;;
            esac
            return
        done
        hdf5_fits "$module_cflags" "$module_libs" && return
    done
    if [ "$mpi" = none ]; then set -- h5cc; else set -- h5pcc "h5pcc.$mpi"; fi
    for wrapper; do
        has "$wrapper" && prefix_fits "$(dirname "$(command -v "$wrapper")")/.." && return
    done
    return 1
}

# The name of our MPI in a prefix; one that is not the distribution's gets a name of its own.
mpi_key() {
    case $mpicc in
    '' | /usr/bin/*) printf '%s' "$mpi" | sed 's/^none$/serial/' ;;
    *) printf '%s-%s' "$mpi" "$(printf '%s' "$mpicc" | cksum | cut -d ' ' -f 1)" ;;
    esac
}

# Prefixes and source trees that a suite was named for say so in .suite; any will do otherwise.
of_wanted_suite() {
    [ -z "${H5VELOC_HDF5_SUITE:-}" ] || [ "$(cat "$1/.suite" 2>/dev/null)" = "$H5VELOC_HDF5_SUITE" ]
}

built_fits() {
    for built in "$cache"/hdf5-*-"$(mpi_key)"; do
        of_wanted_suite "$built" && prefix_fits "$built" && return
    done
    return 1
}

# The distribution's own package counts when its archive has a new one, for its own MPI.
package_fits() {
    case $mpi:$mpicc in
    none:*) hdf5_package=libhdf5-dev ;;
    *: | *:/usr/bin/*) hdf5_package=libhdf5-$mpi-dev ;;
    *) return 1 ;;
    esac
    has apt-cache && has dpkg || return 1
    hdf5_candidate=$(apt-cache policy "$hdf5_package" 2>/dev/null | sed -n 's/^ *Candidate: //p')
    case $hdf5_candidate in
    '' | '(none)')
        [ "$apt_is_fresh" = no ] && { [ "$(id -u)" -eq 0 ] || has sudo; } && apt_update || return 1
        package_fits
        ;;
    *) dpkg --compare-versions "$hdf5_candidate" ge 1.14 ;;
    esac
}

# The suite of the same distribution that has a new HDF5 as a source package with a configure
choose_suite() {
    # shellcheck source=/dev/null
    distribution=$(. /etc/os-release 2>/dev/null && echo "${ID:-}")
    hdf5_suite=${H5VELOC_HDF5_SUITE:-}
    [ -z "$hdf5_suite" ] || return 0
    case $distribution in
    debian) hdf5_suite=trixie ;;
    ubuntu) hdf5_suite=resolute ;;
    *) return 1 ;;
    esac
}

# hdf5_plan: there, package or source; hdf5_dir when it is there
choose_hdf5() {
    hdf5_plan=there hdf5_dir=
    if [ -n "${HDF5_DIR:-}" ]; then
        hdf5_dir=$(cd "$HDF5_DIR" 2>/dev/null && pwd) || die "HDF5_DIR=$HDF5_DIR: there is no such directory"
        return
    fi
    if system_fits || built_fits; then
        return
    fi
    if package_fits; then
        hdf5_plan=package missing="$missing $hdf5_package"
        return
    fi
    hdf5_plan=source
    if ! choose_suite || ! has apt-get; then
        die "HDF5 >= 1.14 for MPI $mpi was not found, and its source can be fetched on Debian and Ubuntu only: install it and name it with HDF5_DIR=, or through pkg-config or h5pcc in PATH"
    fi
    want zlib1g-dev preprocesses "${CC:-gcc}" zlib.h
    want xz-utils has xz
}

provide_hdf5() {
    case $hdf5_plan in
    package) system_fits || die "$hdf5_package is installed and a program does not build with it; see $cache/log/fits.log" ;;
    source) system_fits || build_hdf5 ;;
    esac
}

# A configuration of apt that neither reads the system's lists and sources nor writes anything of
# the system's. It is read last (-c), so that proxy and certificates of the system stay in force;
# commands that the system hooks to an update are not for us. The archive's address is the one
# the system uses; signatures are checked against the distribution's keyring.
write_apt_configuration() {
    apt_dir=$1/apt
    keyring=/usr/share/keyrings/$distribution-archive-keyring.gpg
    [ -r "$keyring" ] || die "no $keyring to check the source of HDF5 with: install $distribution-archive-keyring"
    archive=$(archive_address)
    [ -n "$archive" ] || die "apt's configuration names no archive of $distribution: name an HDF5 >= 1.14 with HDF5_DIR="
    mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial" "$apt_dir/none" || return 1
    echo "deb-src [signed-by=$keyring] $archive $hdf5_suite main" >"$apt_dir/sources.list"
    : >"$apt_dir/preferences"
    cat >"$apt_dir/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::SourceList "$apt_dir/sources.list";
Dir::Etc::SourceParts "$apt_dir/none";
Dir::Etc::Preferences "$apt_dir/preferences";
Dir::Etc::PreferencesParts "$apt_dir/none";
Dir::State "$apt_dir";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$apt_dir";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
Acquire::Retries "3";
END
}

# By what the fetched lists say of their origin; without lists, by the codename in the sources.
# shellcheck disable=SC2016  # $(REPO_URI) is apt's
archive_address() {
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    {
        apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' 'Identifier: Packages' |
            grep -i " $distribution main\$"
        apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
            grep " $codename main\$"
    } 2>/dev/null | cut -d ' ' -f 1 | grep -v security | head -n 1
}

fetch_hdf5_source() (
    cd "$1" && apt-get -q -c apt/apt.conf update && apt-get -q -c apt/apt.conf source --download-only hdf5
)

# hdf5_src, hdf5_version: the kept sources, or new ones. $1: the working directory
provide_hdf5_source() {
    for hdf5_src in "$cache"/hdf5-*-src; do
        hdf5_version=${hdf5_src#"$cache/hdf5-"} hdf5_version=${hdf5_version%-src}
        [ -x "$hdf5_src/configure" ] && of_wanted_suite "$hdf5_src" && return
    done
    write_apt_configuration "$1"
    logged "fetching the source of HDF5 from $hdf5_suite" "$cache/log/hdf5-fetch.log" fetch_hdf5_source "$1" ||
        die "the source of HDF5 cannot be fetched; without network name an HDF5 >= 1.14 with HDF5_DIR="
    set -- "$1" "$1"/hdf5_*.orig.tar.*
    hdf5_version=$(basename "$2" | sed 's/^hdf5_\([0-9.]*[0-9]\).*/\1/')
    hdf5_src=$cache/hdf5-$hdf5_version-src
    mkdir "$1/src" && tar -xf "$2" -C "$1/src" --strip-components=1 --no-same-owner ||
        die "cannot unpack $2"
    [ -x "$1/src/configure" ] ||
        die "the source of HDF5 $hdf5_version in $hdf5_suite has no configure: name an older suite with H5VELOC_HDF5_SUITE="
    echo "$hdf5_suite" >"$1/src/.suite"
    rm -rf "$hdf5_src"
    mv "$1/src" "$hdf5_src" || die "cannot write $hdf5_src"
}

# Only the C library and the tools, as a system would have them.
configure_hdf5() (
    cd "$1/build" || return 1
    if [ "$mpi" = none ]; then set -- --disable-parallel; else set -- --enable-parallel; fi
    CC=${mpicc:-${CC:-}} CFLAGS="-O2" "$hdf5_src/configure" "$@" "--prefix=$hdf5_dir" \
        --enable-build-mode=production --enable-tools --with-zlib=yes --with-szlib=no \
        --disable-fortran --disable-cxx --disable-java --disable-hl --disable-tests \
        --disable-doxygen --disable-static
)

build_hdf5() {
    has flock || die "flock (util-linux) is missing"
    exec 9>"$cache/lock"
    flock -n 9 || logged "waiting for another bootstrap that builds HDF5" "$cache/log/lock.log" flock 9 ||
        die "cannot lock $cache/lock"
    rm -rf "$cache"/.work-*
    if built_fits; then
        exec 9>&-
        return
    fi
    work=$(mktemp -d "$cache/.work-XXXXXX") || die "cannot write into $cache"
    trap 'rm -rf "$work"' EXIT
    provide_hdf5_source "$work"
    hdf5_dir=$cache/hdf5-$hdf5_version-$(mpi_key)
    mkdir "$work/build"
    log=$cache/log/hdf5-$hdf5_version-$(mpi_key)
    text="HDF5 $hdf5_version ($(mpi_key))"
    logged "configuring $text" "$log-configure.log" configure_hdf5 "$work" || exit 1
    logged "building $text" "$log-make.log" make -C "$work/build" -j"$jobs" || exit 1
    logged "installing $text" "$log-install.log" make -C "$work/build" install "DESTDIR=$work/root" || exit 1
    cp "$hdf5_src/.suite" "$work/root$hdf5_dir/.suite"
    rm -rf "$hdf5_dir"
    mv "$work/root$hdf5_dir" "$hdf5_dir" || die "cannot write $hdf5_dir"
    rm -rf "$work"
    trap - EXIT
    exec 9>&-
    built_fits || die "the HDF5 just built does not fit; see $cache/log/fits.log"
}
