import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Returns the bytes of every file in a node's directory, one character each. */
export function filesBelow(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isFile() ? [readFileSync(path, "latin1")] : [];
  });
}
