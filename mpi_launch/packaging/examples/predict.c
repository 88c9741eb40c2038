// SPDX-License-Identifier: Apache-2.0
/* Predicts the throughput of a model on 1 to 16 systems through the C interface.
 * cc predict.c $(pkg-config --cflags --libs libwsc) -o predict && ./predict gpt3_111m.yaml */
#include <libwsc.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static const int64_t counts[] = {1, 2, 4, 8, 16};
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    libwsc_sweep *sweep = NULL;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: predict PARAMS.yaml\n");
        return 2;
    }
    int status = libwsc_params_load(&params, argv[1], NULL, 0);
    if (!status) status = libwsc_machine_load(&machine, NULL, NULL, 0);
    if (!status) status = libwsc_scale(&sweep, params, machine, counts, 5, NULL);
    if (status) (void)fprintf(stderr, "%s\n", libwsc_message());
    for (int i = 0; !status && i < libwsc_sweep_n(sweep); i++) {
        struct libwsc_point point = {.size = sizeof point};
        status = libwsc_sweep_point(sweep, i, &point);
        (void)printf("%lld systems: %.0f tokens/s, efficiency %.3f\n", (long long)point.num_csx,
                     point.tokens_per_s, point.efficiency);
    }
    libwsc_sweep_free(&sweep);
    libwsc_machine_free(&machine);
    libwsc_params_free(&params);
    return status;
}
