/**
 * Lazy initialization of what packages of the console create at load and its first frame does not need: grapheme segmenters
 * and a regular expression of all emoji, which make V8 read Unicode data, and Node's HTTP client, by which yoga decodes a
 * data URL. Without them the first frame takes a third less processor time.
 */

import { readFile } from "node:fs/promises";

const SEGMENTER = /^const (\w+) = (new Intl\.Segmenter\(.*\));$/gm;
const EMOJI = /^const (\w+) = (\/\^\\p\{RGI_Emoji\}\$\/v);$/gm;
const FETCH = /"function"!=typeof fetch\?/g;

/** Each character of printable ASCII is a grapheme, and none is an emoji. */
const ASCII = "/^[\\x20-\\x7e]*$/";
const ofAscii = {
  segment: "Array.from(text, (segment, index) => ({ segment, index, input: text }))",
  test: "false",
};

/** Replaces a constant by an object with that method, which creates the original at the first text beyond ASCII. */
const later = (method) => (_, name, made) =>
  [
    `let ${name}Made;`,
    `const ${name} = { ${method}: (text) => ${ASCII}.test(text) ? ${ofAscii[method]} : (${name}Made ??= ${made}).${method}(text) };`,
  ].join("\n");

/** Every change must apply to every file that matches, so that a new version of a package cannot undo it unnoticed. */
const FILES = [
  {
    file: /[\\/](ink|cli-truncate|widest-line)[\\/]node_modules[\\/]string-width[\\/]index\.js$/,
    changes: [
      [SEGMENTER, later("segment")],
      [EMOJI, later("test")],
    ],
  },
  { file: /[\\/]wrap-ansi[\\/]node_modules[\\/]string-width[\\/]index\.js$/, changes: [[SEGMENTER, later("segment")]] },
  { file: /[\\/]slice-ansi[\\/]tokenize-ansi\.js$/, changes: [[SEGMENTER, later("segment")]] },
  { file: /[\\/]ansi-tokenize[\\/]build[\\/]tokenize\.js$/, changes: [[SEGMENTER, later("segment")]] },
  { file: /[\\/]yoga-layout[\\/]dist[\\/]binaries[\\/]yoga-wasm-base64-esm\.js$/, changes: [[FETCH, () => "true?"]] },
];

export const deferredParts = {
  name: "deferred-parts",
  setup(build) {
    for (const { file, changes } of FILES) {
      build.onLoad({ filter: file }, async ({ path }) => {
        let contents = await readFile(path, "utf8");
        for (const [found, change] of changes) {
          const changed = contents.replace(found, change);
          if (changed === contents)
            throw new Error(`${path} does not match ${found}: update bin/build/lazy-constants.mjs`);
          contents = changed;
        }
        return { contents };
      });
    }
  },
};
