/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "tap/placelab.h"
#include "tap/tap.h"

struct placed {
    char *name;
    bool is_new; /* not one that was there before, and is written */
};

static struct vel_err err;

static void answer(struct vel_link *link, const struct vel_msg *msg)
{
    struct vel_err why = {0};

    if (vel_link_send(link, msg, &why) < 0)
        note("leader: %s", why.text);
}

/* --- what was asked --- */

/* Names are whole paths: those below the prefix, from there on. */
static const char *below(const struct placelab *lab, const char *name)
{
    const char *inner = vel_path_below(lab->prefix, name);

    return inner ? inner : name;
}

static void remember(struct placelab *lab, const char *what, const char *name)
{
    name = below(lab, name);
    vel_buf_printf(&lab->heard, "%s %s; ", what, name);
}

const char *placelab_heard(struct placelab *lab)
{
    static char text[2000];

    pthread_mutex_lock(&lab->lock);
    snprintf(text, sizeof text, "%s", vel_buf_text(&lab->heard));
    vel_buf_clear(&lab->heard);
    pthread_mutex_unlock(&lab->lock);
    return text;
}

const char *placelab_place(const struct placelab *lab, const char *name)
{
    static char path[500];
    name = below(lab, name);
    size_t n = (size_t)snprintf(path, sizeof path, "%s/", lab->cache);

    for (; *name && n < sizeof path - 1; name++)
        path[n++] = *name == '/' ? '%' : *name;
    path[n] = '\0';
    return path;
}

/* --- answers --- */

static int said_of(const struct placelab *lab, const char *name)
{
    for (int i = lab->n_says; i-- > 0;)
        if (strcmp(lab->says[i].name, below(lab, name)) == 0)
            return (int)lab->says[i].where;
    return -1;
}

static void create(struct placelab *lab, struct vel_link *link,
                   const struct vel_msg *msg)
{
    struct vel_msg place = {.kind = VEL_MSG_PLACE, .seq = msg->seq};
    const char *name = msg->u.create.name;
    int said = said_of(lab, name);

    if (said < 0 && msg->u.create.how != VEL_CREATE_NEW &&
        access(placelab_place(lab, name), F_OK) < 0)
        said = 2;
    remember(lab, msg->u.create.how == VEL_CREATE_NEW ? "create" : "write", name);
    place.u.place.where = said < 0 ? 1 : (unsigned)said;
    place.u.place.path = "";
    place.u.place.why = said < 0 ? "by the script" : "as the script says";
    if (place.u.place.where == 1) {
        struct placed file = {strdup(name), msg->u.create.how == VEL_CREATE_NEW};

        if (!file.name || !vel_vec_push(&lab->files, &file))
            bail_out("no memory");
        place.u.place.file = lab->files.n;
        place.u.place.path = placelab_place(lab, name);
    }
    answer(link, &place);
}

/* Two that are open have one place here. */
static bool is_last_of(const struct placelab *lab, uint64_t number, const char *name)
{
    for (size_t i = number; i < lab->files.n; i++)
        if (strcmp(((struct placed *)vel_vec_at(&lab->files, i))->name, name) == 0)
            return false;
    return true;
}

static void close_file(struct placelab *lab, struct vel_link *link,
                       const struct vel_msg *msg)
{
    struct vel_msg reply = {.kind = VEL_MSG_YES, .seq = msg->seq};
    char what[32];
    struct stat st = {0};
    const struct placed *file = vel_vec_at(&lab->files, msg->u.close.file - 1);
    const char *name = file->name;

    snprintf(what, sizeof what, "close%d", (int)msg->u.close.how);
    remember(lab, what, name);
    if (msg->u.close.how != VEL_CLOSE_GIVEN_UP &&
        (stat(placelab_place(lab, name), &st) < 0 ||
         (uint64_t)st.st_size != msg->u.close.size))
        remember(lab, "WRONG SIZE", name);
    else if (msg->u.close.how == VEL_CLOSE_GIVEN_UP && file->is_new &&
             is_last_of(lab, msg->u.close.file, name))
        unlink(placelab_place(lab, name));
    if (lab->refuses_close) {
        reply.kind = VEL_MSG_NO;
        reply.u.no = (struct vel_msg_no){.status = (uint64_t)-VEL_EIO,
                                         .text = "the script says no"};
    }
    answer(link, &reply);
}

static void look(struct placelab *lab, struct vel_link *link, const struct vel_msg *msg)
{
    struct vel_msg place = {.kind = VEL_MSG_PLACE, .seq = msg->seq};
    const char *name = msg->u.look.name;
    int said = said_of(lab, name);

    remember(lab, msg->u.look.how ? "pull" : "look", name);
    if (said < 0)
        said = access(placelab_place(lab, name), F_OK) == 0 ? 1 : 2;
    place.u.place.where = (unsigned)said;
    place.u.place.path = said == 1 ? placelab_place(lab, name) : "";
    place.u.place.why = said == 3 ? "dataset 7 is lost, older.h5 is the newest" : "";
    place.u.place.dataset = said == 1 || said == 4 ? (uint64_t)lab->dataset : 0;
    answer(link, &place);
}

static void tell_state(struct placelab *lab, struct vel_link *link,
                       const struct vel_msg *msg)
{
    struct vel_msg state = {.kind = VEL_MSG_STATE, .seq = msg->seq};

    state.u.state.dataset = msg->u.ask.dataset;
    state.u.state.encoded = lab->is_encoded;
    state.u.state.text = lab->text ? lab->text : "";
    if (lab->states) {
        state.u.state.state = (uint64_t)(*lab->states - '0');
        lab->states += lab->states[1] != '\0';
    }
    state.u.state.left = state.u.state.state < 5 ? 10 : 0;
    answer(link, &state);
}

static void hear(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct placelab *lab = arg;
    struct vel_msg yes = {.kind = VEL_MSG_YES, .seq = msg->seq};
    struct vel_msg pong = {.kind = VEL_MSG_PONG, .seq = msg->seq};

    pthread_mutex_lock(&lab->lock);
    switch (msg->kind) {
    case VEL_MSG_CREATE:
        create(lab, link, msg);
        break;
    case VEL_MSG_CLOSE:
        close_file(lab, link, msg);
        break;
    case VEL_MSG_LOOK:
        look(lab, link, msg);
        break;
    case VEL_MSG_ASK:
        tell_state(lab, link, msg);
        break;
    case VEL_MSG_PING:
        answer(link, &pong);
        break;
    case VEL_MSG_REMOVE:
        remember(lab, "remove", msg->u.remove.name);
        unlink(placelab_place(lab, msg->u.remove.name));
        answer(link, &yes);
        break;
    case VEL_MSG_LEAVE:
        remember(lab, "leave",
                 msg->u.leave.how == VEL_LEAVE_FAILING ? "badly"
                 : msg->u.leave.how == VEL_LEAVE_LAST  ? "last"
                                                       : "well");
        answer(link, &yes);
        break;
    default:
        answer(link, &yes);
    }
    pthread_mutex_unlock(&lab->lock);
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    (void)arg, (void)link, (void)why;
}

static const struct vel_links_ops links_ops = {.message = hear, .gone = gone};

static void *run(void *arg)
{
    struct placelab *lab = arg;
    struct vel_err why = {0};

    while (!atomic_load(&lab->stops))
        if (vel_links_turn(lab->links, 5, &why) < 0)
            note("leader: %s", why.text);
    return NULL;
}

/* --- begin and end --- */

static void make_dir(char *ret, size_t size, const char *name, const char *variable)
{
    snprintf(ret, size, "%.250s/%s", tap_dir(), name);
    if (mkdir(ret, 0700) < 0 || setenv(variable, ret, 1) < 0)
        bail_out("no directory %s", ret);
}

void placelab_start(struct placelab *lab)
{
    char control[300];
    struct vel_links_me me = {.role = VEL_PEER_LEADER,
                              .epoch = 1,
                              .rank = VEL_MSG_NO_RANK,
                              .launch = "L",
                              .user = geteuid(),
                              .limit_ms = 30000,
                              .clock = vel_clock_system()};

    pthread_mutex_init(&lab->lock, NULL);
    vel_buf_init(&lab->heard);
    vel_vec_init(&lab->files, sizeof(struct placed));
    make_dir(lab->prefix, sizeof lab->prefix, "prefix", "VELOC_PREFIX");
    make_dir(lab->cache, sizeof lab->cache, "cache", "VELOC_CACHE_BASE");
    make_dir(control, sizeof control, "k", "VELOC_CNTL_BASE");
    setenv("VELOC_LAUNCH", "L", 1);
    setenv("VELOC_UNLISTED", "BEHIND", 1); /* so it is asked of all */
    if (vel_host_init(&lab->host, &err) < 0 ||
        vel_role_open(vel_fs_posix(), &lab->host, control, "L", &lab->role, &err) < 0 ||
        vel_role_take(lab->role, &err) < 0)
        bail_out("no role: %s", err.text);
    me.node = lab->host.node;
    if (vel_links_create(&me, &links_ops, lab, &lab->links, &err) < 0 ||
        vel_links_listen(lab->links, vel_role_endpoint(lab->role), &err) < 0 ||
        pthread_create(&lab->thread, NULL, run, lab) != 0)
        bail_out("no leader: %s", err.text);
}

void placelab_end(struct placelab *lab)
{
    atomic_store(&lab->stops, true);
    pthread_join(lab->thread, NULL);
    vel_links_destroy(lab->links);
    vel_role_close(lab->role);
    vel_host_fini(&lab->host);
    vel_buf_fini(&lab->heard);
    for (size_t i = 0; i < lab->files.n; i++)
        free(((struct placed *)vel_vec_at(&lab->files, i))->name);
    vel_vec_fini(&lab->files);
    pthread_mutex_destroy(&lab->lock);
}

void placelab_say(struct placelab *lab, const char *name, unsigned where)
{
    pthread_mutex_lock(&lab->lock);
    snprintf(lab->says[lab->n_says].name, sizeof lab->says[0].name, "%s", name);
    lab->says[lab->n_says++].where = where;
    pthread_mutex_unlock(&lab->lock);
}
