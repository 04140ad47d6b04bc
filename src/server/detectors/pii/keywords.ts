/**
 * Searches for the keywords of all patterns in one pass, with the automaton of Aho and Corasick (1975) and a full
 * transition table.
 */

/** Returns a search that marks in `hits` the owner of each keyword in a text. It ignores the case of ASCII letters. */
export function keywordSearch(
  keywords: readonly { readonly word: string; readonly owner: number }[],
): (text: string, hits: Uint8Array) => void {
  if (keywords.length === 0) return () => {};
  const classes = classesOf(keywords.map(({ word }) => word));
  const width = classes.size + 1;
  const steps: number[] = new Array(width).fill(0);
  const owners: number[][] = [[]];
  for (const { word, owner } of keywords) {
    let state = 0;
    for (let at = 0; at < word.length; at++) {
      const place = state * width + classes.get(word.charCodeAt(at))!;
      if (steps[place] === 0) {
        steps[place] = owners.length;
        owners.push([]);
        for (let more = 0; more < width; more++) steps.push(0);
      }
      state = steps[place]!;
    }
    owners[state]!.push(owner);
  }
  finish(steps, owners, width);
  // A transition to a state that ends a keyword is negative, so all others need only one look-up in a small table.
  const table = tableOf(steps, owners);
  const ascii = new Uint8Array(0x80);
  for (let unit = 0; unit < 0x80; unit++) ascii[unit] = classes.get(lower(unit)) ?? 0;
  const isAscii = [...classes.keys()].every((unit) => unit < 0x80);
  return (text, hits) => {
    let state = 0;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const kind = unit < 0x80 ? ascii[unit]! : isAscii ? 0 : (classes.get(unit) ?? 0);
      state = table[state * width + kind]!;
      if (state >= 0) continue;
      state = -state;
      const found = owners[state]!;
      for (let each = 0; each < found.length; each++) hits[found[each]!] = 1;
    }
  };
}

/** Assigns numbers from 1 to the UTF-16 units of the keywords; 0 is any other unit. */
function classesOf(words: readonly string[]): Map<number, number> {
  const classes = new Map<number, number>();
  for (const word of words) {
    for (let at = 0; at < word.length; at++) {
      const unit = word.charCodeAt(at);
      if (!classes.has(unit)) classes.set(unit, classes.size + 1);
    }
  }
  return classes;
}

/**
 * Completes the table breadth first: where a keyword does not continue, it copies the transition of the longest suffix
 * that begins a keyword.
 */
function finish(steps: number[], owners: number[][], width: number): void {
  const suffix = new Int32Array(owners.length);
  const queue: number[] = [];
  for (let kind = 0; kind < width; kind++) if (steps[kind] !== 0) queue.push(steps[kind]!);
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head]!;
    const shorter = suffix[state]!;
    owners[state] = [...new Set([...owners[state]!, ...owners[shorter]!])];
    for (let kind = 0; kind < width; kind++) {
      const place = state * width + kind;
      const onward = steps[shorter * width + kind]!;
      if (steps[place] === 0) steps[place] = onward;
      else {
        suffix[steps[place]!] = onward;
        queue.push(steps[place]!);
      }
    }
  }
}

function tableOf(steps: readonly number[], owners: readonly (readonly number[])[]): Int16Array | Int32Array {
  const signed = steps.map((state) => (owners[state]!.length > 0 ? -state : state));
  return owners.length < 2 ** 15 ? Int16Array.from(signed) : Int32Array.from(signed);
}

function lower(unit: number): number {
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
}
