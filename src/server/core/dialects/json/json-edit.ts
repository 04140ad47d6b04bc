/** Changes named top-level members of a JSON object and leaves every other byte unchanged. */
import { type Member, memberName, membersOf } from "./json-scan.ts";

export interface ObjectEdits {
  /** New JSON text by member name; an absent member is added at the end. */
  readonly set: ReadonlyMap<string, string>;
  readonly remove: ReadonlySet<string>;
  /** New names by old name; if the new name is present already, the old member is dropped. */
  readonly rename: ReadonlyMap<string, string>;
}

/** Replaces one value; the rest of the object is untouched. */
export function replaceValue(bytes: Buffer, member: Member, json: string): Buffer {
  return Buffer.concat([bytes.subarray(0, member.valueStart), Buffer.from(json), bytes.subarray(member.valueEnd)]);
}

/**
 * Applies the edits. `bytes` must contain an object that `scanObject` found valid. Returns the same buffer if nothing changes.
 */
export function editObject(bytes: Buffer, edits: ObjectEdits): Buffer {
  const members = membersOf(bytes);
  const names = members.map((member) => memberName(bytes, member));
  const present = new Set(names);
  const pieces: (Buffer | string)[] = [];
  let changed = false;
  let kept = 0;
  members.forEach((member, i) => {
    const name = names[i] as string;
    const renamed = edits.rename.get(name);
    if (edits.remove.has(name) || (renamed !== undefined && present.has(renamed))) {
      changed = true;
      return;
    }
    const previous = members[i - 1];
    if (kept++ > 0 && previous !== undefined) pieces.push(bytes.subarray(previous.valueEnd, member.nameStart));
    const value = edits.set.get(name);
    if (renamed === undefined && value === undefined) {
      pieces.push(bytes.subarray(member.nameStart, member.valueEnd));
      return;
    }
    changed = true;
    pieces.push(`${JSON.stringify(renamed ?? name)}:`, value ?? bytes.subarray(member.valueStart, member.valueEnd));
  });
  for (const [name, value] of edits.set) {
    if (present.has(name)) continue;
    changed = true;
    pieces.push(`${kept++ > 0 ? "," : ""}${JSON.stringify(name)}:${value}`);
  }
  if (!changed) return bytes;
  const first = members[0];
  const last = members.at(-1);
  const head = first === undefined ? bytes.subarray(0, bytes.indexOf("{") + 1) : bytes.subarray(0, first.nameStart);
  const tail = last === undefined ? bytes.subarray(bytes.lastIndexOf("}")) : bytes.subarray(last.valueEnd);
  return Buffer.concat([
    head,
    ...pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
    tail,
  ]);
}
