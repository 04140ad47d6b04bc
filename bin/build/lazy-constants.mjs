/**
 * Makes packages of the console create some objects at first use and not when they are loaded, because the first frame
 * does not need them: grapheme segmenters and a regular expression of all emoji, which make V8 load Unicode data, and
 * Node's HTTP client, which yoga uses to decode a data URL. This saves a third of the first frame's processor time.
 */

import { readFile } from "node:fs/promises";

const SEGMENTER = /^const (\w+) = (new Intl\.Segmenter\(.*\));$/gm;
const EMOJI = /^const (\w+) = (\/\^\\p\{RGI_Emoji\}\$\/v);$/gm;
const FETCH = /"function"!=typeof fetch\?/g;

/** Matches printable ASCII, in which each character is a grapheme and none is an emoji. */
const ASCII = "/^[\\x20-\\x7e]*$/";
const ofAscii = {
  segment: "Array.from(text, (segment, index) => ({ segment, index, input: text }))",
  test: "false",
};

/**
 * Replaces a constant by an object with that method. The original is created when the first text beyond ASCII is
 * passed.
 */
const later = (method) => (_, name, made) =>
  [
    `let ${name}Made;`,
    `const ${name} = { ${method}: (text) => ${ASCII}.test(text) ? ${ofAscii[method]} : (${name}Made ??= ${made}).${method}(text) };`,
  ].join("\n");

/** Files to change. If a change does not match, for example in a new version of a package, the build fails. */
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
