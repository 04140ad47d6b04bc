/** Checks a pack against the packs that it builds on. Whether expressions compile is checked elsewhere, by compiling them. */

import { findNamed } from "./pack-objects.ts";
import type { Pack } from "./read-pack.ts";

export type BaseOf = (id: string) => Pack | undefined;

/** Returns problems, one line each. The base packs, direct and indirect, are already checked. */
export function checkPack(pack: Pack, baseOf: BaseOf): readonly string[] {
  const { id, buildsOn, attaches, objects, files } = pack;
  const missing = buildsOn.filter((base) => baseOf(base) === undefined);
  if (missing.length > 0) {
    return missing.map((base) => `${files.pack.name}: builds_on: there is no pack \`${base}\``);
  }
  const bases = ancestorsOf(pack, baseOf);
  if (bases.some((base) => base.id === id)) return [`${files.pack.name}: builds_on: the pack builds on itself`];
  const problems: string[] = [];
  for (const { pack: base, rule } of attaches) {
    const known = baseOf(base)?.objects ?? [];
    if (findNamed(known, "guardrail rule", rule) === undefined && findNamed(known, "access rule", rule) === undefined) {
      problems.push(`${files.pack.name}: attaches: the pack \`${base}\` has no rule \`${rule}\``);
    }
  }
  const reachable = [pack, ...bases].flatMap((it) => it.objects);
  for (const { list, name, value } of objects) {
    const taken = bases.find((base) => findNamed(base.objects, list, name) !== undefined);
    if (taken !== undefined) {
      problems.push(`${files.fragment.name}: the ${list} \`${name}\` is one of the pack \`${taken.id}\` already`);
    }
    for (const detector of detectorsOf(value)) {
      if (findNamed(reachable, "detector", detector) !== undefined) continue;
      problems.push(
        `${files.fragment.name}: the ${list} \`${name}\` requires \`${detector}\`, which is a detector of neither this pack nor one that it builds on`,
      );
    }
  }
  return problems;
}

/** Returns the names of the detectors in `requires`. */
export function detectorsOf({ requires }: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(requires) ? requires.filter((it) => typeof it === "string") : [];
}

/** Returns all packs that it builds on, directly or indirectly, each once. */
export function ancestorsOf(pack: Pack, baseOf: BaseOf): readonly Pack[] {
  const found = new Map<string, Pack>();
  const pending = [...pack.buildsOn];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const base = baseOf(id);
    if (base === undefined || found.has(id)) continue;
    found.set(id, base);
    pending.push(...base.buildsOn);
  }
  return [...found.values()];
}
