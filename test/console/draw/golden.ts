/** Frames stored as text files. UPDATE_GOLDEN=1 rewrites them; review them before committing. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export function matchesGolden(name: string, frame: string): void {
  const path = fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));
  const text = `${frame}\n`;
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  assert.equal(text, readFileSync(path, "utf8"), `${name} is drawn otherwise; UPDATE_GOLDEN=1 keeps it so`);
}
