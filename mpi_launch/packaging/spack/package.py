# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Wsc(MakefilePackage):
    """Emulator of a wafer-scale AI cluster: trains language models by weight streaming under MPI,
    keeps the virtual time of the emulated machine, predicts throughput over systems."""

    homepage = "https://a-seed-4e8e8ece.example/wsc"
    # A tarball of `make dist` beside this file: spack install wsc.
    url = "file:///{0}/wsc-0.1.0.tar.gz".format(__file__.rpartition("/")[0].lstrip("/"))

    license("Apache-2.0")

    version("0.1.0")

    variant("onednn", default=True, description="Products by oneDNN; without it by plain loops")
    variant("gnuplot", default=True, description="Pictures of sweeps")
    variant("library", default=True, description="Shared library and Python module")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5+mpi@1.10:")
    depends_on("libyaml")
    depends_on("jansson")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("libdeflate")
    depends_on("lz4")
    depends_on("cunit", type="test")
    depends_on("onednn@2.6:3 cpu_runtime=omp", when="+onednn")
    depends_on("gnuplot", type="run", when="+gnuplot")
    depends_on("python@3.9:", type="run", when="+library")

    def variables(self):
        """What `make` is told instead of looking for it."""
        hdf5 = join_path(self.spec["hdf5"].prefix.bin, "h5pcc")
        return ["MPICC=" + self.spec["mpi"].mpicc, "HDF5=" + hdf5, "ARCH=",
                "ONEDNN=" + ("yes" if self.spec.satisfies("+onednn") else "no")]

    def build(self, spec, prefix):
        make(*self.variables(), "all")
        if spec.satisfies("+library"):
            make(*self.variables(), "library")

    def check(self):
        make(*self.variables(), "check-unit")

    def install(self, spec, prefix):
        make(*self.variables(), "install", "PREFIX=" + prefix)

    def setup_run_environment(self, env):
        if self.spec.satisfies("+library"):
            env.prepend_path("PYTHONPATH", self.prefix.share.wsc.python)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.wsc)("doctor", "--quick")
