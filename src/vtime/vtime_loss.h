/** The link time that lost packets of a message cost (go-back-N).  Called by the links of vtime.c;
 *  vtime_loss.c has the arithmetic. */
#ifndef WSC_VTIME_LOSS_H
#define WSC_VTIME_LOSS_H
#include <wsc/vtime.h>

/** Time that lost packets cost a message. */
struct vtime_loss_cost {
    int64_t first_ps; /**< until the first byte has left for good */
    int64_t all_ps;   /**< of the whole message */
    int64_t n_lost;   /**< packets */
};
/** Sample the losses of message @p message of @p bytes on @p link, whose loss rate is above 0. */
struct vtime_loss_cost vtime_loss_cost_of(const struct vtime_link *link, int64_t bytes,
                                          uint64_t message);
#endif
