/** A model on an emulated machine, for the tests of cycles and plans. */
#ifndef WSC_TEST_CYCLES_CASE_H
#define WSC_TEST_CYCLES_CASE_H
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/cycles_ops.h>
#include <wsc/hw.h>
#include <wsc/model.h>

struct rig {
    struct hw_machine cluster;
    struct hw hw;
    struct model *model;
};

/** The CS-2 with a model that streams by @p granularity; end with model_destroy(&r->model). */
static inline void rig_open(struct rig *r, struct model_case c, enum hw_granularity granularity)
{
    struct zoo_params p = model_case_params(c);
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, &p, granularity));
}

static const struct model_case case_256m = {1088, 14, 17, 4352, 2048};
static const struct model_case case_2p7b = {2560, 32, 32, 10240, 2048};
static const struct model_case case_13b = {5120, 40, 40, 20480, 2048};
static const struct model_case case_20b = {6144, 44, 64, 24576, 2048};
#endif
