/**
 * Merges entities of overlapping windows into those of one text. An entity at an edge was read with half of its
 * context: it is left to the neighboring window if that one sees all of it, and joined with the neighbor's part if it
 * is longer than the overlap. Of other overlapping entities the longest is kept, and among equals the one with the
 * highest score. Source: guardrails reference, 3.1.
 */

import type { TokenWindow } from "../text/token-windows.ts";
import type { Entity, Tag } from "./entities.ts";

/** Merges entities, ascending by start. `places`: start and end of each token in the text. */
export function joined(
  byWindow: readonly (readonly Entity[])[],
  windows: readonly TokenWindow[],
  tags: readonly Tag[],
  places: { readonly starts: Int32Array; readonly ends: Int32Array },
): readonly Entity[] {
  if (windows.length < 2) return byWindow[0] ?? [];
  const all = byWindow.flatMap((entities, at) => cutAt(entities, windows, at));
  all.sort((a, b) => startOf(a) - startOf(b));
  const kept: Cut[] = [];
  let open: Cut | undefined;
  for (const one of all) {
    if (open === undefined) open = one;
    else if (isSameCut(open, one)) open = union(open, one);
    else if (startOf(one) < endOf(open)) open = better(open, one) ? one : open;
    else {
      kept.push(open);
      open = one;
    }
  }
  if (open !== undefined) kept.push(open);
  return kept;

  function startOf({ first }: Entity): number {
    return places.starts[first] as number;
  }
  function endOf({ last }: Entity): number {
    return places.ends[last] as number;
  }
  function better(a: Entity, b: Entity): boolean {
    const difference = endOf(b) - startOf(b) - (endOf(a) - startOf(a));
    return difference > 0 || (difference === 0 && b.score > a.score);
  }
  function isSameCut(a: Cut, b: Cut): boolean {
    const [tag, next] = [tags[a.label] as Tag, tags[b.label] as Tag];
    if (!a.isCutBehind || !b.isCutBefore || tag.name !== next.name) return false;
    return b.first <= a.last || (b.first === a.last + 1 && !next.begins);
  }
}

interface Cut extends Entity {
  readonly isCutBefore: boolean;
  readonly isCutBehind: boolean;
}

const union = (a: Cut, b: Cut): Cut => ({
  ...a,
  last: Math.max(a.last, b.last),
  score: Math.max(a.score, b.score),
  isCutBehind: b.last >= a.last ? b.isCutBehind : a.isCutBehind,
});

/** Returns the entities of a window that no neighbor sees better. */
function cutAt(entities: readonly Entity[], windows: readonly TokenWindow[], at: number): readonly Cut[] {
  const { from, to } = windows[at] as TokenWindow;
  const [before, behind] = [windows[at - 1], windows[at + 1]];
  return entities.flatMap((entity) => {
    const isCutBefore = before !== undefined && entity.first === from;
    const isCutBehind = behind !== undefined && entity.last === to - 1;
    if (isCutBefore && !isCutBehind && entity.last < before.to - 1) return [];
    if (isCutBehind && !isCutBefore && entity.first > behind.from) return [];
    return [{ ...entity, isCutBefore, isCutBehind }];
  });
}

/** Merges entities for aggregation `none`: each token is taken from the window in which it is farthest from a cut. */
export function farthestFromCuts(
  byWindow: readonly (readonly Entity[])[],
  windows: readonly TokenWindow[],
): readonly Entity[] {
  const owner = (token: number): number => {
    let best = 0;
    let most = -1;
    windows.forEach(({ from, to }, at) => {
      if (token < from || token >= to) return;
      const left = at === 0 ? Number.POSITIVE_INFINITY : token - from;
      const right = at === windows.length - 1 ? Number.POSITIVE_INFINITY : to - 1 - token;
      if (Math.min(left, right) > most) [best, most] = [at, Math.min(left, right)];
    });
    return best;
  };
  if (windows.length < 2) return byWindow[0] ?? [];
  const found = byWindow.flatMap((entities, at) => entities.filter(({ first }) => owner(first) === at));
  return found.sort((a, b) => a.first - b.first);
}
