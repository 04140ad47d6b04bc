/**
 * Spelling of the documents: British forms (this project writes American ones) and common slips. Names that belong to
 * the contract are code, which is not checked.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { markdownFiles } from "../../docs/.vitepress/markdown-files.ts";
import { partsOf } from "./markdown-parts.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** British words by their stems, with their American forms. */
const BRITISH: Readonly<Record<string, string>> = {
  behaviour: "behavior",
  colour: "color",
  favour: "favor",
  honour: "honor",
  neighbour: "neighbor",
  recognis: "recogniz",
  organis: "organiz",
  authoris: "authoriz",
  normalis: "normaliz",
  serialis: "serializ",
  initialis: "initializ",
  summaris: "summariz",
  synchronis: "synchroniz",
  customis: "customiz",
  optimis: "optimiz",
  tokenis: "tokeniz",
  anonymis: "anonymiz",
  licence: "license",
  defence: "defense",
  catalogue: "catalog",
  centre: "center",
  cancelled: "canceled",
  labelled: "labeled",
  modelled: "modeled",
  travelling: "traveling",
  dialled: "dialed",
  dialler: "dialer",
  dialling: "dialing",
  artefact: "artifact",
  grey: "gray",
};

const SLIPS = [
  "accomodat",
  "acheiv",
  "adress",
  "apparant",
  "begining",
  "beleive",
  "calender",
  "commited",
  "concious",
  "definately",
  "dependant",
  "dissapear",
  "embarass",
  "enviroment",
  "existance",
  "explicitely",
  "foward",
  "fullfil",
  "garantee",
  "greatful",
  "happend",
  "heirarch",
  "immediatly",
  "independant",
  "intial",
  "lenght",
  "maintainance",
  "neccessar",
  "noticable",
  "occassion",
  "occured",
  "occurence",
  "overriden",
  "paramter",
  "persistant",
  "posess",
  "preceed",
  "prefered",
  "priviledge",
  "propogat",
  "publically",
  "recieve",
  "recomend",
  "refered",
  "relevent",
  "reponse",
  "respone",
  "retreive",
  "seperat",
  "sucess",
  "succesful",
  "supress",
  "temporar[^yi]",
  "tommorow",
  "transfered",
  "untill",
  "usefull",
  "wierd",
  "writen",
];

const WRONG = new RegExp(`\\b(?:${[...Object.keys(BRITISH), ...SLIPS].join("|")})`, "i");
/** A repeated word. Names and numbers may repeat. */
const TWICE = /(?<![-`])\b([a-z]{2,}) \1\b/;

test("no document has a British or misspelled word, or a doubled word", () => {
  const found = markdownFiles(ROOT).flatMap((path) =>
    partsOf(readFileSync(join(ROOT, path), "utf8")).prose.flatMap(({ text, line }) => {
      const prose = text.replace(/\]\([^)]*\)/g, "]");
      const match = WRONG.exec(prose) ?? TWICE.exec(prose);
      return match === null ? [] : [`${path}:${line}: ${match[0]}`];
    }),
  );
  assert.deepEqual(found, []);
});
