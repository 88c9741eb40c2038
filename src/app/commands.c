// SPDX-License-Identifier: Apache-2.0
/* The table of commands: names, summaries, usage and examples of `--help`, use of MPI ranks, the
 * function.  Their options are rows of options.c.  main.c walks this table. */
#include "commands.h"
#include "cmd.h"
#include "requests.h"

const struct app_command app_commands[] = {
    {.name = "run",
     .bit = APP_ON_RUN,
     .summary = "train, evaluate or generate on emulated CS-2 systems",
     .usage = "run [CSX|CPU] --params FILE [options]\n"
              "mpirun -n R wsc run ...     any R from 1 to `wsc ranks`; the results are the same",
     .examples =
         "  wsc run --params configs/params/tiny.yaml --num_csx 2 --num_steps 20\n"
         "  wsc run --params configs/params/gpt3_13b.yaml --num_csx 64 --num_steps 3 \\\n"
         "          --numerics none\n"
         "  wsc run --params configs/params/mesh.yaml --num_csx 2 --numerics mesh \\\n"
         "          --set cluster.wafer.pe_cols=16 --set cluster.wafer.pe_rows=16\n"
         "  wsc run --params configs/params/gpt3_111m.yaml --num_csx 4 --num_steps 4 \\\n"
         "          --numerics none --model_dir out/111m --trace out/111m/chrome_trace.json\n"
         "  wsc run --params my.yaml --mode generate --prompt 'A hacker is '\n",
     .ranks = APP_RANKS_ALL,
     .request_bytes = sizeof(struct app_run),
     .run = app_run_job},
    {.name = "scale",
     .bit = APP_ON_SCALE,
     .summary = "throughput against the number of systems, as table, plot and report",
     .usage = "scale --params FILE[,FILE...] --out DIR [options]",
     .examples =
         "  wsc scale --params configs/params/gpt3_13b.yaml --out out/13b\n"
         "  wsc scale --params configs/params/gpt3_1p3b.yaml --num_csx 1,16,192 --out out/192 \\\n"
         "            --set cluster.swarmx.link_latency=10us\n"
         "  wsc scale --params configs/params/gpt3_1p3b.yaml --out out/latency \\\n"
         "            --sweep cluster.swarmx.latency=1us..1ms\n"
         "  wsc scale --params configs/params/gpt3_13b.yaml --out out/uncertainty --effects \\\n"
         "            --sensitivity --tokens 20xparams\n"
         "  wsc scale --params configs/params/gpt3_111m.yaml --num_csx 4 --out out/step \\\n"
         "            --breakdown --trace out/step/chrome_trace.json --goal out/step/step.goal\n",
     .ranks = APP_RANKS_SHARE,
     .request_bytes = sizeof(struct app_scale),
     .run = app_run_scale},
    {.name = "validate",
     .bit = APP_ON_VALIDATE,
     .summary = "predict published figures and print the error of each",
     .usage = "validate [--out DIR] [options]\n"
              "wsc validate --mesh [--pairs N] [--seed S] [--json]\n"
              "wsc validate --mesh --wafer [--csv FILE] [--json]\n"
              "wsc validate --mesh --products [--seed S] [--json]\n"
              "wsc validate --mesh --sparse [--pairs N] [--seed S] [--json]",
     .about = "Predicts every published figure of benchmarks/reference and prints the error, the "
              "rows that constants were fitted on, the parts of the predicted steps, and the "
              "predictions of the same machine with its calibrated constants at neutral values. "
              "Exit status 1 when a row leaves the tolerance that its file states.",
     .examples = "  wsc validate --out out/validation\n"
                 "  wsc validate --mesh\n"
                 "  wsc validate --out out/slow_start --set cluster.wafer.stage_latency=2ms\n",
     .ranks = APP_RANKS_SHARE,
     .request_bytes = sizeof(struct app_validate),
     .run = app_run_validate},
    {.name = "calibrate",
     .bit = APP_ON_CALIBRATE,
     .summary = "fit constants of the machine to published figures",
     .usage = "calibrate --out FILE [options]",
     .about = "Fits constants to the published figures of kind calibration, estimates the "
              "uncertainty of each, and writes them, with the figures they were fitted on, into a "
              "cluster file based on the machine.",
     .examples = "  wsc calibrate --out out/fitted.yaml\n"
                 "  wsc calibrate --out out/three.yaml \\\n"
                 "      --fit wafer.stage_latency,wafer.arrival_cycles,wafer.simd_fmachs\n"
                 "  wsc calibrate --out out/fitted.yaml --leave_one_out\n",
     .ranks = APP_RANKS_SHARE,
     .request_bytes = sizeof(struct app_calibrate),
     .run = app_run_calibrate},
    {.name = "reproduce",
     .bit = APP_ON_REPRODUCE,
     .summary = "draw published tables and figures again from predictions",
     .usage = "reproduce [EXHIBIT...] --out DIR [options]",
     .about = "Predicts the published figures and simulates the curves of the exhibits in "
              "benchmarks/reference/exhibits.yaml, and writes a table and a picture of each, one "
              "page (reproduction.html) and one PDF with all of them.",
     .examples = "  wsc reproduce --out out/reproduction\n"
                 "  wsc reproduce bert_pretraining --out out/bert\n",
     .ranks = APP_RANKS_SHARE,
     .request_bytes = sizeof(struct app_reproduce),
     .run = app_run_reproduce},
    {.name = "law",
     .bit = APP_ON_LAW,
     .summary = "train a ladder of sizes and fit loss against FLOPs",
     .usage = "law --params FILE --sizes CxL,... --out DIR [options]\n"
              "wsc law --points FILE --out DIR [options]",
     .about = "Trains a model of each size on a number of tokens for each parameter, fits "
              "L(f) = (f / a)^b + c to the held-out losses, with intervals, and predicts loss and "
              "time of larger trainings.  The systems of --num_csx share the global batch of a "
              "params file.  A ladder that was cut continues where it was.  FLOPs are counted as "
              "publications on scaling laws count them, with embedding and softmax.",
     .examples =
         "  wsc law --params my.yaml --sizes 64x2,96x3,128x4,192x4 --out out/law\n"
         "  wsc law --points benchmarks/reference/laws/cerebras_gpt.csv --out out/published \\\n"
         "          --predict configs/params/gpt3_13b.yaml --num_csx 12 --target 1.6\n",
     .ranks = APP_RANKS_ALL,
     .request_bytes = sizeof(struct app_law),
     .run = app_run_law},
    {.name = "mesh",
     .bit = APP_ON_MESH,
     .summary = "run a kernel on the emulated dataflow mesh, cycle by cycle",
     .usage = "mesh list\n"
              "wsc mesh survey [--max_p P] [--max_words B] [--json]\n"
              "wsc mesh calibration [--json]\n"
              "wsc mesh KERNEL [options]",
     .about = "Runs a kernel on the emulated dataflow mesh, wavelet by wavelet, checks its result "
              "against the host and prints the cycles it took. survey compares simulated cycles "
              "with the analytical models of the literature, calibration with published counts. "
              "Under mpirun the ranks share the fabric of a kernel, each a band of its rows; the "
              "result is the same.",
     .examples =
         "  wsc mesh allreduce --fabric 64x1 --words 256 --algo two-phase\n"
         "  wsc mesh gemm --fabric 8x8 --m 64 --n 32 --k 40 --algo stream --density 0.5 --json\n"
         "  wsc mesh allreduce --fabric 32x32 --words 64 --heatmap heat.png --explain\n"
         "  wsc mesh attention --fabric 16x8 --tokens 32 --heads 4 --head_dim 16 --pass backward\n"
         "  wsc mesh reduce --fabric 8x1 --algo chain --trace chain.json --trace_pe 0-7,0\n"
         "  mpirun -n 4 wsc mesh allreduce --fabric 750x994 --words 1024 --threads 1\n",
     .ranks = APP_RANKS_SHARE,
     .stops = true,
     .request_bytes = sizeof(struct app_mesh),
     .run = app_run_mesh},
    {.name = "data",
     .bit = APP_ON_DATA,
     .summary = "make a dataset from text",
     .usage = "data --input FILE|FOLDER... --out DIR [options]",
     .about = "Makes a Model Zoo HDF5 dataset from text: DIR/train, DIR/val, DIR/test with .h5 "
              "files and data_params.json. A run that was interrupted resumes when it is started "
              "again.",
     .examples =
         "  wsc data --input book.txt notes.txt.gz --out data/books --max_seq_length 512\n"
         "  wsc data --input pile/ --tokenizer bpe --vocab vocab.json --merges merges.txt \\\n"
         "           --out data/pile --max_seq_length 2048 --split 0.01 --test_split 0.01 "
         "--shuffle\n"
         "  wsc data --input reviews.csv.zst --column review --out data/reviews\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_data),
     .run = app_run_data},
    {.name = "data train-bpe",
     .bit = APP_ON_TRAIN_BPE,
     .summary = "learn a byte-level BPE vocabulary from text",
     .usage = "data train-bpe --input FILE|FOLDER... --out DIR --vocab_size N [options]",
     .about = "Learns a byte-level BPE from text: DIR/vocab.json and DIR/merges.txt, as GPT-2 and "
              "Hugging Face's tokenizers have them. Text and options determine the files.",
     .examples = "  wsc data train-bpe --input corpus/ --out data/bpe --vocab_size 8000\n"
                 "  wsc data --input corpus/ --out data/corpus --tokenizer bpe \\\n"
                 "           --vocab data/bpe/vocab.json --merges data/bpe/merges.txt\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_train_bpe),
     .run = app_run_train_bpe},
    {.name = "data train-wordpiece",
     .bit = APP_ON_TRAIN_WORDPIECE,
     .summary = "learn a WordPiece vocabulary from text",
     .usage = "data train-wordpiece --input FILE|FOLDER... --out DIR --vocab_size N [options]",
     .about = "Learns a WordPiece vocabulary from text: DIR/vocab.txt, as BERT has it. Text and "
              "options determine the file.",
     .examples =
         "  wsc data train-wordpiece --input corpus/ --out data/words --vocab_size 8000 "
         "--do_lower\n"
         "  wsc data --input corpus/ --out data/masked --tokenizer wordpiece --do_lower \\\n"
         "           --vocab data/words/vocab.txt --data_processor BertHDF5DataProcessor "
         "--disable_nsp\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_train_bpe),
     .run = app_run_train_wordpiece},
    {.name = "convert",
     .bit = APP_ON_CONVERT,
     .summary = "convert checkpoints from and to Hugging Face",
     .usage = "convert --from hf --to cs --input DIR --out DIR [options]\n"
              "wsc convert --from cs --to hf --input FILE --params FILE --model FAMILY --out DIR",
     .about = "Makes a checkpoint and params of a Hugging Face folder (config.json and "
              "safetensors or pytorch_model.bin, one file or shards), or a folder with safetensors "
              "of a checkpoint and its params.",
     .examples =
         "  wsc convert --from hf --to cs --input gpt2 --out out/gpt2\n"
         "  wsc run --params out/gpt2/params.yaml --mode generate --prompt 'Once'\n"
         "  wsc convert --from cs --to hf --model gpt2 --input model_dir/checkpoint_100.mdl \\\n"
         "          --params out/gpt2/params.yaml --dtype bf16 --out out/gpt2_hf\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_convert),
     .run = app_run_convert},
    {.name = "inspect",
     .bit = APP_ON_INSPECT,
     .summary = "print what is in a file of weights, dataset, params or cluster file",
     .usage = "inspect FILE [--json]",
     .about = "Prints what is in a checkpoint (.mdl), a file of weights of other programs "
              "(safetensors, torch.save), a dataset (.h5), a params file or a cluster file.",
     .examples = "  wsc inspect model_dir/checkpoint_100.mdl\n"
                 "  wsc inspect model.safetensors\n"
                 "  wsc inspect configs/cluster/cs2.yaml\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_inspect),
     .run = app_run_inspect},
    {.name = "params",
     .bit = APP_ON_PARAMS,
     .summary = "write, compare and describe params files",
     .usage = "params --template FAMILY SIZE\n"
              "wsc params --diff FILE FILE\n"
              "wsc params --schema [params|cluster]",
     .about = "Writes a commented params file of a published model, compares the effective values "
              "of two params files key by key, or prints the JSON Schema of params or cluster "
              "files, by which editors complete and check them.",
     .examples = "  wsc params --template gpt3 111m >my.yaml\n"
                 "  wsc params --diff my.yaml configs/params/gpt3_111m.yaml\n"
                 "  wsc params --schema >params.schema.json\n"
                 "  wsc params --schema cluster >cluster.schema.json\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_params),
     .run = app_run_params},
    {.name = "doctor",
     .bit = APP_ON_DOCTOR,
     .summary = "check this host: MPI, HDF5, limits, network, cores",
     .usage = "doctor [--quick] [--json]",
     .about = "Checks whether this host can run the program, and what could make it slow: the "
              "processor, cores and their binding, memory and huge pages, limits, clock, network "
              "interfaces, MPI with two ranks, HDF5 and its filters, a training step on two ranks, "
              "gnuplot.  Prints a line for each and what to do about it.  Exit status 1 when a "
              "check fails; a warning does not change it.",
     .examples = "  wsc doctor\n"
                 "  srun -n 1 wsc doctor --quick\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_doctor),
     .run = app_run_doctor},
    {.name = "ranks",
     .bit = APP_ON_RANKS,
     .summary = "print the number of MPI ranks for one role per rank",
     .usage = "ranks --num_csx N [--cluster FILE] [--params FILE] [--phase N] "
              "[--set PATH=VALUE]",
     .about = "Prints the number of MPI ranks for one role per rank: N wafers, the SwarmX nodes "
              "of their tree and the MemoryX shards.",
     .examples =
         "  sbatch -n $(wsc ranks --num_csx 16) mpi_launch/slurm.sbatch --params my.yaml \\\n"
         "      --num_csx 16\n",
     .ranks = APP_RANKS_ONE,
     .request_bytes = sizeof(struct app_ranks_of),
     .run = app_run_ranks},
    {.name = "help",
     .bit = APP_ON_HELP,
     .summary = "print the options of a command, or a page of the manual",
     .usage = "help [COMMAND]\n"
              "wsc help --man PAGE\n"
              "wsc help --completion bash|zsh",
     .examples = "  wsc help data train-bpe\n"
                 "  wsc help --man wsc-run | man -l -\n"
                 "  source <(wsc help --completion bash)\n",
     .ranks = APP_RANKS_FIRST,
     .request_bytes = sizeof(struct app_help_request),
     .run = app_run_help},
    {0}};
