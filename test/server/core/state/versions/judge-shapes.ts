/**
 * The versioning rule for shapes of commands and rows: a shape recorded at a closed level stays, and a change belongs
 * to a level of no older build.
 */
import type { Shape } from "../../../../../src/server/core/state/fields.ts";
import type { ReplicatedShape } from "../../../../../src/server/core/state/recorded-shapes.ts";

interface RecordedShape {
  /** Feature level from which the shape applies; for commands also the one from which they may be proposed. */
  readonly level: number;
  readonly gate?: number;
  readonly shape: Shape;
}

/** Shapes by name, oldest first. */
export type Recorded = Readonly<Record<string, readonly RecordedShape[]>>;

interface Levels {
  /** Highest level of an older build. */
  readonly closed: number;
  /** Highest level of this build. */
  readonly newest: number;
}

interface Judgement {
  /** Objections to the change, which recording does not remove. */
  readonly broken: readonly string[];
  /** Allowed shapes that are not recorded yet. */
  readonly unrecorded: readonly string[];
  /** Shapes to record if nothing is broken. */
  readonly next: Recorded;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function judgeShapes(recorded: Recorded, current: readonly ReplicatedShape[], levels: Levels): Judgement {
  const { closed, newest } = levels;
  const broken: string[] = [];
  const unrecorded: string[] = [];
  const next: Record<string, readonly RecordedShape[]> = {};
  for (const { name, level: gate, shape } of current) {
    const before = Object.hasOwn(recorded, name) ? (recorded[name] ?? []) : [];
    const last = before.at(-1);
    const found: RecordedShape = { level: Math.max(gate ?? 0, newest), ...(gate !== undefined && { gate }), shape };
    if (last !== undefined && isSame(last.shape, shape) && last.gate === gate) {
      next[name] = before;
      continue;
    }
    const isOpen = newest > closed && (last === undefined ? (gate ?? newest) > closed : true);
    if (!isOpen) broken.push(refusalOf(name, last, found, levels));
    else if (last !== undefined && last.level <= closed && last.gate !== gate) broken.push(regated(name, last.gate));
    else unrecorded.push(name);
    next[name] = [...before.filter(({ level }) => level <= closed), found];
  }
  for (const [name, shapes] of Object.entries(recorded)) {
    if (Object.hasOwn(next, name)) continue;
    if ((shapes[0]?.level ?? 0) <= closed) {
      broken.push(`${name} is gone: logs and snapshots of older builds hold it, so it stays, refused from a level on`);
    } else unrecorded.push(name);
  }
  return { broken, unrecorded, next };
}

function refusalOf(name: string, last: RecordedShape | undefined, found: RecordedShape, { closed }: Levels): string {
  const what =
    last === undefined
      ? `${name} is new at feature level ${found.gate ?? closed}, which older builds work at and do not know it`
      : `${name} is not what older builds of feature level ${closed} have:\n${differences(last, found)}`;
  return (
    `${what}\n  A member of another build would come to another state. Take it back, or add a level to FEATURE_LEVELS ` +
    '(src/server/core/state/commands/feature.ts) and let it hold from that level on; CONTRIBUTING, "Versions", says how.'
  );
}

const regated = (name: string, gate: number | undefined): string =>
  `${name} was proposed from feature level ${gate} on, and members of older builds propose it so: refuse within its effect, ` +
  "by the level, what must not happen any more";

/** Returns the lines that only one of the two has. */
function differences(last: RecordedShape, found: RecordedShape): string {
  const lines = (of: RecordedShape): readonly string[] =>
    JSON.stringify({ gate: of.gate, shape: of.shape }, null, 1).split("\n");
  const [before, after] = [lines(last), lines(found)];
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => `  - ${line.trim()}`),
    ...after.filter((line) => !before.includes(line)).map((line) => `  + ${line.trim()}`),
  ].join("\n");
}

/** Writes a file with one line per shape, so that a difference shows what changed. */
export function textOf(recorded: Recorded): string {
  const names = Object.keys(recorded).sort();
  const entries = names.map((name) => {
    const shapes = (recorded[name] ?? []).map((shape) => `    ${JSON.stringify(shape)}`);
    return `  ${JSON.stringify(name)}: [\n${shapes.join(",\n")}\n  ]`;
  });
  return `{\n${entries.join(",\n")}\n}\n`;
}
