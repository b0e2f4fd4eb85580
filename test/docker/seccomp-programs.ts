import { PARALLEL_NODE, PARALLEL_NODE_OUTPUT } from "../setup/parallel-node.js";
import { PARALLEL_FUNCTIONS } from "../setup/parallel-python.js";

/**
 * Programs that people run, each with what it prints: under the filter as without. In the image with data and tools.
 * No `ls FILE` and no `stat`: Debian's runsc knows a flag of theirs not.
 */
export const PROGRAMS: readonly {
  readonly name: string;
  readonly script: string;
  readonly output: string;
}[] = [
  {
    name: "bash pipelines and coreutils",
    script: `
      seq 1000 | sort -rn | sed -n 1,3p | tr '\\n' ' '
      mkfifo pipe; (echo through > pipe) & cat pipe; wait
      dd if=/dev/zero of=zero bs=1k count=4 status=none; cp -a zero zeros; wc -c < zeros
      tar cf a.tar zeros; tar xf a.tar; truncate -s 1M big; sync; timeout 5 true; nice -n 1 true
      diff <(echo same) <(echo same); touch -d 2020-01-01 zero; find zero -printf '%TY\\n'`,
    output: "1000 999 998 through\n4096\n2020\n",
  },
  {
    name: "Python: threads, processes, shared memory, asyncio, sockets",
    script: `cat > p.py <<'PY'
import asyncio, multiprocessing, os, socket, subprocess, threading
from multiprocessing import shared_memory
${PARALLEL_FUNCTIONS}
if __name__ == "__main__":
    threads = [threading.Thread(target=square, args=(i,)) for i in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(4)))
    block = shared_memory.SharedMemory(create=True, size=64)
    block.close(), block.unlink()
    print(subprocess.check_output(["echo", "child"]), asyncio.run(echo()), socket.socketpair()[0].family.name)
PY
      python3 p.py`,
    output: "fork [0, 1, 4, 9]\nspawn [0, 1, 4, 9]\nb'child\\n' b'echo\\n' AF_UNIX\n",
  },
  {
    name: "Node: workers, children, a server, watching files",
    script: `cat > p.js <<'JS'
${PARALLEL_NODE}
forEachParallel("127.0.0.1");
JS
      node p.js`,
    output: PARALLEL_NODE_OUTPUT,
  },
  {
    name: "pip, for a wheel, and a virtual environment",
    script: `python3 - <<'PY'
import zipfile
info = "greet-1.0.dist-info/"
with zipfile.ZipFile("greet-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greet.py", "print('greetings')")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "greet.py,,\\n")
PY
      pip install -q --no-index --disable-pip-version-check ./greet-1.0-py3-none-any.whl; python3 -c 'import greet'
      python3 -m venv --without-pip --system-site-packages v
      v/bin/python -m pip install -q --no-index --force-reinstall ./greet-1.0-py3-none-any.whl; v/bin/python -c 'import greet'`,
    output: "greetings\ngreetings\n",
  },
  {
    name: "npm, for a package of this disk",
    script: `
      mkdir dep app; cd dep; npm init -y > /dev/null; npm pack --silent; cd ../app; npm init -y > /dev/null
      npm install --silent --offline --no-audit --no-fund ../dep/dep-1.0.0.tgz; echo node_modules/*
      npm pkg set scripts.hi='echo hi'; npm run --silent hi`,
    output: "dep-1.0.0.tgz\nnode_modules/dep\nhi\n",
  },
  {
    name: "git",
    script: `
      git config --global user.name n; git config --global user.email e@example.com
      git -c init.defaultBranch=main init -q repo; cd repo; echo 1 > a; git add a; git commit -qm one
      git checkout -q -b side; echo 2 > b; git add b; git commit -qm two; git checkout -q main; git merge -q side
      git gc -q; git clone -q . ../clone; git -C ../clone log --format=%s`,
    output: "two\none\n",
  },
  {
    name: "gcc and make, and what they built: a hundred threads",
    script: `
      cat > m.cc <<'CC'
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>
int main() {
  std::atomic<int> counted{0}; std::mutex mutex; int locked = 0; std::vector<std::thread> threads;
  for (int i = 0; i < 100; i++)
    threads.emplace_back([&] { for (int n = 0; n < 1000; n++) { counted++; std::lock_guard<std::mutex> guard(mutex); locked++; } });
  for (auto &thread : threads) thread.join();
  std::printf("%d %d\\n", counted.load(), locked);
}
CC
      printf 'm: m.cc\\n\\tg++ -O1 -pipe -pthread -o m m.cc\\n' > Makefile; make -sj2; ./m
      printf '#include <stdio.h>\\nint main(void) { puts("C"); }\\n' > c.c; gcc -o c c.c; ./c`,
    output: "100000 100000\nC\n",
  },
  {
    name: "numpy, pandas and matplotlib",
    script: `python3 - <<'PY'
import io, numpy, pandas
import matplotlib; matplotlib.use("agg")
import matplotlib.pyplot as plot
a = numpy.random.rand(300, 300)
print(numpy.allclose(numpy.linalg.inv(a) @ a, numpy.eye(300), atol=1e-6))
print({k: int(v) for k, v in pandas.read_csv(io.StringIO("k,v\\na,1\\na,2")).groupby("k").v.sum().items()})
plot.plot([1, 2]); plot.savefig("p.png"); print(open("p.png", "rb").read(4))
PY`,
    output: "True\n{'a': 3}\nb'\\x89PNG'\n",
  },
];
