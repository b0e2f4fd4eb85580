import { describe, expect, it } from "vitest";
import { OutputBudget, type OutputBuffer } from "./output-budget.js";

/** Takes what it is given. */
class TestBuffer implements OutputBuffer {
  capacity = 0;

  resize(capacity: number): void {
    this.capacity = capacity;
  }
}

function began(budget: OutputBudget, wanted: number): TestBuffer {
  const buffer = new TestBuffer();
  budget.begin(buffer);
  budget.grow(buffer, wanted);
  return buffer;
}

describe("a budget of outputs", () => {
  it("gives as much as is wanted while there is room", () => {
    const budget = new OutputBudget(100);
    const [one, two] = [began(budget, 40), began(budget, 60)];
    expect([one.capacity, two.capacity, budget.used]).toEqual([40, 60, 100]);
    budget.remove(one);
    expect(budget.used).toBe(60);
  });

  it("takes from what has ended, the oldest of it first, and only then from what runs", () => {
    const budget = new OutputBudget(100);
    const [oldest, old, runs] = [began(budget, 30), began(budget, 30), began(budget, 40)];
    budget.end(oldest, 30);
    budget.end(old, 20);
    const next = began(budget, 30);
    expect([oldest, old, runs, next].map(({ capacity }) => capacity)).toEqual([10, 20, 40, 30]);
    budget.grow(next, 60);
    expect([oldest, old, runs, next].map(({ capacity }) => capacity)).toEqual([0, 0, 40, 60]);
  });

  it("is shared evenly by those that run, however many there are", () => {
    const budget = new OutputBudget(100);
    const buffers = Array.from({ length: 10 }, () => began(budget, 80));
    for (const buffer of buffers) budget.grow(buffer, 80);
    expect(buffers.map(({ capacity }) => capacity)).toEqual(Array(10).fill(10));
    expect(budget.used).toBe(100);
    for (const buffer of buffers.slice(1)) budget.remove(buffer);
    budget.grow(buffers[0]!, 80);
    expect([buffers[0]!.capacity, budget.used]).toEqual([80, 80]);
  });

  it("counts one that it did not know while it ran, and takes from it too", () => {
    const budget = new OutputBudget(100);
    const runs = began(budget, 90);
    const late = new TestBuffer();
    late.resize(50);
    budget.end(late, 30);
    expect([runs.capacity, late.capacity, budget.used]).toEqual([90, 10, 100]);
  });
});
