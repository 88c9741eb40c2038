/** Numbers of local tasks, colours, queues and microthreads of the patterns. All patterns share
 *  one numbering, so that two patterns of one program never use the same resource. */
#ifndef WSC_PROGRAMS_RESOURCES_H
#define WSC_PROGRAMS_RESOURCES_H

/* Local tasks; WSE-3 has local ids from 8 on. */
enum {
    PROGRAMS_TASK_MAIN = 8,
    PROGRAMS_TASK_NEXT,
    PROGRAMS_TASK_SEND,
    PROGRAMS_TASK_READY,
    PROGRAMS_TASK_ITEM, /* also the control task that ends an item */
    PROGRAMS_TASK_SUMMED,
    PROGRAMS_TASK_PLACED
};
/* Colours of the patterns; each program uses some of them. */
enum {
    PROGRAMS_COLOUR_SCALARS = 0,     /* scalars that start AXPYs: down a column or along a row */
    PROGRAMS_COLOUR_GATHER,          /* toward the start of a line */
    PROGRAMS_COLOUR_VECTOR,          /* along a row: one vector for each item */
    PROGRAMS_COLOUR_COLLECT,         /* gather of these vectors */
    PROGRAMS_COLOUR_SPREAD,          /* from the middle of a line to both sides */
    PROGRAMS_COLOUR_CHAIN = 6,       /* four */
    PROGRAMS_COLOUR_EDGE_CHAIN = 10, /* four */
    PROGRAMS_COLOUR_WEST = 16        /* to the west edge; WSE-3 has switches on this one */
};
/* Input and output queues by use; the deepest queues are for streams. */
enum {
    PROGRAMS_IN_SCALARS = 0,
    PROGRAMS_IN_GATHER = 1,
    PROGRAMS_IN_FAR = 2,
    PROGRAMS_IN_NEAR = 3,
    PROGRAMS_IN_VECTOR = 4,
    PROGRAMS_IN_COLLECT = 5,
    PROGRAMS_IN_SPREAD = 6,
    PROGRAMS_IN_EDGE = 7
};
enum {
    PROGRAMS_OUT_SCALARS = 0,
    PROGRAMS_OUT_VECTOR = 1,
    PROGRAMS_OUT_START = 2,
    PROGRAMS_OUT_AWAY = 3,
    PROGRAMS_OUT_SPREAD = 4,
    PROGRAMS_OUT_EDGE = 5
};
/* Microthreads. */
enum {
    PROGRAMS_THREAD_SUM = 1,
    PROGRAMS_THREAD_SEND,
    PROGRAMS_THREAD_SEND_VECTOR,
    PROGRAMS_THREAD_RECEIVE,
    PROGRAMS_THREAD_TRIGGER
};
#endif
