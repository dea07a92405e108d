/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions that rank 0 answers for everyone. */
#include "config.h"

#include "base/log.h"
#include "conf/load.h"
#include "engine/session_in.h"

static int spread(struct vel_session *s, int64_t answer, bool *ret, struct vel_err *err)
{
    int rc;

    if (s->world->rank != 0)
        answer = 0;
    rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &answer, 1, err);
    if (rc == 0)
        *ret = answer != 0;
    return rc;
}

static void ask_halt(struct vel_session *s, struct vel_halt_verdict *ret)
{
    vel_session_limited(s);
    vel_policy_exit(&s->policy, s->conf, vel_halt_watch_look(&s->halt),
                    vel_conf_end_time(s->conf), ret);
}

/* Is the program to end? Told when that is new, not whenever somebody asks. */
static bool must_end(struct vel_session *s)
{
    struct vel_halt_verdict halt = {.why = VEL_HALT_NONE};

    ask_halt(s, &halt);
    if (halt.why != VEL_HALT_NONE && !s->is_halt_told) {
        vel_log(VEL_LOG_INFO, "the program is asked to end: %s", halt.text);
        vel_session_tell(
            s, (struct vel_event){.kind = VEL_EVENT_HALT, .text = halt.text}, NULL);
    }
    s->is_halt_told = halt.why != VEL_HALT_NONE;
    return s->is_halt_told;
}

/* What holds when its launch begins the chair of that has told. */
void vel_session_begin_halt(struct vel_session *s)
{
    struct vel_halt_verdict halt;

    if (s->has_halt) {
        ask_halt(s, &halt);
        s->is_halt_told = halt.why != VEL_HALT_NONE;
    }
    vel_session_look_for_halt(s);
}

void vel_session_look_for_halt(struct vel_session *s)
{
    if (s->has_halt)
        must_end(s);
}

/* What others tell of failures counts for more than the settings. */
static void get_facts(struct vel_session *s, struct vel_policy_facts *ret)
{
    double told;

    vel_policy_get_facts(&s->policy, ret);
    if (s->conf->checkpoint_optimal == VEL_OPTIMAL_OFF)
        return;
    told = vel_rate_watch_look(&s->rates, vel_session_count_groups, s);
    if (told > 0)
        ret->failure_rate = told;
}

int vel_session_need_checkpoint(struct vel_session *session, bool *ret_need,
                                struct vel_err *err)
{
    struct vel_session *s = session;
    struct vel_policy_verdict verdict = {.why = VEL_POLICY_NOT_DUE};

    if (s->world->rank == 0) {
        struct vel_policy_facts facts;
        struct vel_halt_verdict halt;

        vel_policy_ask(&s->policy);
        get_facts(s, &facts);
        ask_halt(s, &halt);
        vel_policy_need(s->conf, &facts, &halt, &verdict);
        if (verdict.why != VEL_POLICY_NOT_DUE)
            vel_log(VEL_LOG_DEBUG, "a checkpoint is due: %s", verdict.text);
    }
    return spread(s, verdict.why != VEL_POLICY_NOT_DUE, ret_need, err);
}

int vel_session_exit_test(struct vel_session *session, bool *ret_exit,
                          struct vel_err *err)
{
    struct vel_session *s = session;
    bool must = s->world->rank == 0 && must_end(s);

    return spread(s, must, ret_exit, err);
}
