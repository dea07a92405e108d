/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer plug-in that is whatever the test says. */
#include "config.h"

#include "sdk/sdk.h"

const struct veloc_transport_ops *veloc_transport_entry(unsigned host_abi)
{
    return host_abi == VELOC_TRANSPORT_ABI ? sdk_ops() : NULL;
}
