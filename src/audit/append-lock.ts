import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../errors.js";
import { isMakerGone } from "./maker.js";

const MAX_GENERATIONS = 64;

/**
 * One writer at a time, among processes; the lock of a killed one is taken over. Node has no flock, so the lock is a
 * symbolic link (made with its content in one step) whose target names the holder.
 *
 * Removing a dead holder's link is a race: two see it dead, one removes it and locks, the other removes the new lock.
 * So nobody removes it. Who finds `lock` dead makes `lock.2`, who finds both dead makes `lock.3`, and then looks whether
 * all those below are still the same: if not, somebody took over and released meanwhile, and one steps back. A release
 * removes from `lock` upwards, so whoever could come late to a higher one sees the lowest gone or changed.
 */
export class AppendLock {
  readonly #path: string;
  readonly #label: string;
  #generation = 0;

  constructor(directory: string, label: string) {
    this.#path = join(directory, "lock");
    this.#label = label;
  }

  /** True: it is ours until `release`. False: somebody living has it. */
  tryAcquire(): boolean {
    const dead: string[] = [];
    for (let generation = 1; generation <= MAX_GENERATIONS; generation++) {
      // One that is ours already is what a release could not remove.
      if (this.#create(generation) || this.#holder(generation) === this.#label) {
        if (dead.every((label, index) => this.#holder(index + 1) === label)) {
          this.#generation = generation;
          return true;
        }
        this.#remove(generation);
        return false;
      }
      const holder = this.#holder(generation);
      if (holder === undefined || !this.#isGone(generation, holder)) return false;
      dead.push(holder);
    }
    return false;
  }

  release(): void {
    const top = this.#generation;
    this.#generation = 0;
    for (let generation = 1; generation <= top; generation++) this.#remove(generation);
  }

  #name(generation: number): string {
    return generation === 1 ? this.#path : `${this.#path}.${generation}`;
  }

  #create(generation: number): boolean {
    try {
      symlinkSync(this.#label, this.#name(generation));
      return true;
    } catch (error) {
      if (systemCode(error) === "EEXIST") return false;
      throw error;
    }
  }

  #holder(generation: number): string | undefined {
    try {
      return readlinkSync(this.#name(generation));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  #isGone(generation: number, holder: string): boolean {
    const made = lstatSync(this.#name(generation), { throwIfNoEntry: false })?.mtimeMs;
    return made !== undefined && isMakerGone(holder, made);
  }

  #remove(generation: number): void {
    try {
      unlinkSync(this.#name(generation));
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
}
