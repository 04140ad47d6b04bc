/**
 * `npm run messages` writes every text of `src/` and `bin/` that a person may read to `test/messages/inventory.md`,
 * grouped by file, so that all can be read together. When messages change, review the difference of that file.
 */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { filesUnder, read } from "../tidy/source.ts";
import { textsOf } from "./texts.ts";

const INVENTORY = fileURLToPath(new URL("inventory.md", import.meta.url));

/** Data tables whose texts are not messages: telephone plans, sources of presets. */
const DATA = /\/(?:plans|preset-sources)\.ts$/;

/** Returns the text with escapes in place of control characters, so that tools take the file for text. */
const visible = (text: string): string =>
  text.replace(/[^\P{Cc}\n]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Returns the inventory as Markdown: a heading for each file and an item for each text. */
function inventory(): string {
  const files = [...filesUnder("src"), ...filesUnder("bin")]
    .filter((path) => /\.(?:tsx?|mjs|cjs)$/.test(path) && !DATA.test(path))
    .sort();
  const parts = files.flatMap((path) => {
    const texts = [...new Set(textsOf(path, read(path)).map(({ text }) => text))];
    return texts.length === 0 ? [] : [`## ${path}\n\n${texts.map((text) => `- ${visible(text)}`).join("\n")}\n`];
  });
  const head =
    "# Messages\n\nEvery text of the program that a person may read, written by `npm run messages`. `{name}` is a value.\n";
  return [head, ...parts].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(INVENTORY, inventory());
}
