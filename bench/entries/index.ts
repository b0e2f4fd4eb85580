import type { Benchmark } from "../benchmark.js";
import { audit100k } from "./audit-100k.js";
import { checkpoint } from "./checkpoint.js";
import { cliRun } from "./cli-run.js";
import { contextRun } from "./context-run.js";
import { createTrue } from "./create-true.js";
import { decideOverhead } from "./decide-overhead.js";
import { dockerExec } from "./docker-exec.js";
import { egressDownload } from "./egress-download.js";
import { egressLatency } from "./egress-latency.js";
import { evalHumaneval } from "./eval-humaneval.js";
import { execPython } from "./exec-python.js";
import { execPythonPandas } from "./exec-python-pandas.js";
import { httpExecute } from "./http-execute.js";
import { httpLoad } from "./http-load.js";
import { humanevalFresh } from "./humaneval-fresh.js";
import { idle200 } from "./idle-200.js";
import { output1Gib } from "./output-1gib.js";
import { poolHit, poolHitDocker } from "./pool-hit.js";
import { poolSoak } from "./pool-soak.js";
import { riskCorpus } from "./risk-corpus.js";
import { serverMemory } from "./server-memory.js";
import { srtExec } from "./srt-exec.js";

/** Every figure we claim, in the order of the report. A new one is a file beside this and a line here. */
export const ENTRIES: readonly Benchmark[] = [
  execPython,
  execPythonPandas,
  contextRun,
  checkpoint,
  createTrue,
  srtExec,
  dockerExec,
  poolHit,
  poolHitDocker,
  poolSoak,
  cliRun,
  output1Gib,
  humanevalFresh,
  evalHumaneval,
  idle200,
  decideOverhead,
  egressDownload,
  egressLatency,
  httpExecute,
  httpLoad,
  serverMemory,
  audit100k,
  riskCorpus,
];
