/** The candidate most like a misspelt word, or undefined when none is close. Case, `_` and `-` do not count. */
export function closestWord(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = foldWord(word).slice(0, 64);
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, foldWord(candidate));
    // Replacing every letter is not a misspelling.
    if (distance < bestDistance && distance < wanted.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** A hint for a word that is not known: the one that was probably meant, and all that there are. */
export function suggestWord(word: string, known: readonly string[], title = "Known"): string {
  const meant = closestWord(word, known);
  return `${meant === undefined ? "" : `Did you mean ${meant}? `}${title}: ${known.join(", ")}.`;
}

/** The form in which `ALLOWED_DOMAINS`, `allowed-domains` and `allowedDomains` are one word. */
export function foldWord(word: string): string {
  return word.toLowerCase().replaceAll(/[_-]/g, "");
}

/** How many letters must be added, removed, replaced or swapped with their neighbour. */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, beforePrevious[j - 2]! + 1);
      }
      current.push(least);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length]!;
}
