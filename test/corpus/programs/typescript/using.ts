const log: string[] = [];
class Resource {
  constructor(readonly name: string) { log.push(`+${name}`); }
  [Symbol.dispose]() { log.push(`-${this.name}`); }
}
class Slow {
  async [Symbol.asyncDispose]() { await null; log.push("-slow"); }
}
function work(fails: boolean) {
  using a = new Resource("a");
  using b = new Resource("b"), none = null;
  if (fails) throw new Error(`in ${a.name}${b.name}${none}`);
  return "done";
}
async function later() {
  await using slow = new Slow();
  for (using each of [new Resource("x"), new Resource("y")]) log.push(each.name);
  return typeof slow;
}
console.log(work(false), log.splice(0).join(" "));
try { work(true); } catch (error) { console.log((error as Error).message, log.splice(0).join(" ")); }
console.log(await later(), log.splice(0).join(" "));
await using top = new Slow();
process.on("exit", () => console.log(log.join(" ")));
