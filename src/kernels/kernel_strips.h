/** Plans for which an operation is compared at real size, and the strips of the wafer on which it
 *  runs: lists of the rows of the table, which kernel_wafer.c walks. */
#ifndef WSC_KERNEL_STRIPS_H
#define WSC_KERNEL_STRIPS_H
#include <stdbool.h>

/** Models with plans, in the order of the table of kernel_wafer.c. */
enum kernels_plan {
    KERNELS_BERT_BASE,
    KERNELS_BERT_LARGE,
    KERNELS_256M,
    KERNELS_590M,
    KERNELS_1P3B,
    KERNELS_2P7B,
    KERNELS_6P7B,
    KERNELS_GPTJ,
    KERNELS_LLAMA,
    KERNELS_13B,
    KERNELS_20B,
    KERNELS_N_PLANS
};
/** Sets of them. */
#define KERNELS_IN(plan) (1U << KERNELS_##plan)
enum {
    KERNELS_ALL = (1 << KERNELS_N_PLANS) - 1,
    KERNELS_DECODERS = KERNELS_ALL & ~(1 << KERNELS_BERT_BASE | 1 << KERNELS_BERT_LARGE)
};

/** What is continued from two sizes: nothing, the outputs of a product, the tokens of a PE. */
enum kernels_continued { KERNELS_WHOLE, KERNELS_OUTPUTS, KERNELS_TOKENS };
/** What the features of the operation are in the plan. */
enum kernels_side { KERNELS_HIDDEN, KERNELS_FILTER, KERNELS_ONE_HEAD, KERNELS_LOGITS };

/** Cases of one operation; a list ends with one without plans. */
struct kernels_strip {
    unsigned bf16, fp32; /**< sets of plans, by format */
    enum kernels_side side;
    enum kernels_continued how;
    bool backward, tall; /**< tall: full height instead of full width */
};
#endif
