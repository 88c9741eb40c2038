/** Nonlinear functions of feed-forward networks and heads.
 *
 *  A row of ZOO_FUNCTION_MAP has the name in enum zoo_nonlinearity, a word for names in the code,
 *  the function of <wsc/num_math.h>, and the operations of scalar code that an element takes on a
 *  PE; 0: those of an exponential, a division and a polynomial. The values on the host
 *  (src/host/host_activation.c), on the mesh (src/programs/program_norm.c) and the cycles
 *  (src/cycles/cycles_rows.c) follow from the row; the words of params files are in
 *  src/zoo/params_keys.c. */
#ifndef WSC_ZOO_FUNCTIONS_H
#define WSC_ZOO_FUNCTIONS_H

/** The functions: XX(name, word, function, operations). */
#define ZOO_FUNCTION_MAP(XX)                                                                       \
    XX(GELU, gelu, num_gelu, 0)                                                                    \
    XX(GELU_NEW, gelu_new, num_gelu_new, 0)                                                        \
    XX(RELU, relu, num_relu, 2)                                                                    \
    XX(SILU, silu, num_silu, 0)                                                                    \
    XX(QUICK_GELU, quick_gelu, num_quick_gelu, 0)                                                  \
    XX(SQUARED_GELU, squared_gelu, num_squared_gelu, 0)                                            \
    XX(SQUARED_RELU, squared_relu, num_squared_relu, 3)                                            \
    XX(LEAKY_RELU, leaky_relu, num_leaky_relu, 2)                                                  \
    XX(RELU6, relu6, num_relu6, 4)                                                                 \
    XX(TANH, tanh_of, num_tanh_of, 0)                                                              \
    XX(SIGMOID, sigmoid, num_sigmoid, 0)                                                           \
    XX(MISH, mish, num_mish, 0)                                                                    \
    XX(LINEAR, linear, num_linear, 1)

/** Activation of the feed-forward network. A gated activation (Shazeer 2020) has the value of its
 *  function plus ZOO_GATED: it multiplies the output of one linear layer by the function of the
 *  output of a second one. */
enum zoo_nonlinearity {
#define XX(name, word, function, operations) ZOO_##name,
    ZOO_FUNCTION_MAP(XX)
#undef XX
        ZOO_N_FUNCTIONS,
    ZOO_SAME_FUNCTION = ZOO_N_FUNCTIONS, /**< in a head: the activation of the blocks */
    ZOO_GATED = 32,
    ZOO_SWIGLU = ZOO_GATED + ZOO_SILU,
    ZOO_GEGLU = ZOO_GATED + ZOO_GELU,
    ZOO_GEGLU_NEW = ZOO_GATED + ZOO_GELU_NEW,
    ZOO_REGLU = ZOO_GATED + ZOO_RELU,
    ZOO_LIGLU = ZOO_GATED + ZOO_LINEAR
};
#endif
