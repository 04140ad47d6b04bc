/** Run where `re2` is installed: prints each text on which the two engines differ, as JSON. */

import { readFileSync } from "node:fs";
import { BUILT_IN, compileScan, type Engine, engineOf } from "../../../../src/server/detectors/pii/index.ts";
import type { Recognizer, SearchPattern } from "../../../../src/server/detectors/pii/types.ts";

const texts = JSON.parse(readFileSync(0, "utf8")) as string[];

const CUSTOM = [
  "^badge.\\d{3}\\b",
  "(?:a|ab)(?:c|bcd)?",
  "\\pL{2,5}\\s\\w+$",
  "a{2,4}?b*",
  "[^a-c\\s]{3}|\\bk\\b",
  "x*|\\D1",
];

function searchOf(custom: ReturnType<Engine["custom"]>): SearchPattern["search"] {
  return (text, found) => custom(text, (start, end) => found(start, end, undefined));
}

function scans(prefilter: "native" | "pure") {
  const engine = engineOf(prefilter);
  if (engine === undefined) throw new Error("the package re2 was not found");
  const custom = CUSTOM.flatMap((regex, at): Recognizer[] =>
    [true, false].map((isCaseSensitive) => ({
      name: `Custom${at}${isCaseSensitive}`,
      entity: `CUSTOM_${at}_${isCaseSensitive}`,
      category: "custom",
      context: [],
      patterns: [
        {
          kind: "search",
          name: regex,
          score: 1,
          keywords: [],
          containingRegex: regex,
          search: searchOf(engine.custom(regex, isCaseSensitive)),
        },
      ],
    })),
  );
  return compileScan([...BUILT_IN, ...custom], { engine, usesContext: true });
}

const native = scans("native");
const pure = scans("pure");
let findings = 0;
const different = texts.filter((text) => {
  const [one, other] = [JSON.stringify(native(text)), JSON.stringify(pure(text))];
  findings += pure(text).length;
  return one !== other;
});
process.stdout.write(JSON.stringify({ different: different.slice(0, 5), findings }));
