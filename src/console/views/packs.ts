/**
 * View of control packs: the bundled ones and those at given paths, with the controls of each and what the document already
 * has. Adding one, including its test cases, is tried on this machine when the cursor rests on it.
 */

import { escapeControls } from "../../base/index.ts";
import { whyNotWritable } from "../actions/source-dialogs.ts";
import {
  compilingLines,
  differenceOfTrial,
  locationText,
  trialDialog,
  whyTrialBlocks,
} from "../actions/trial-dialog.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { quoted } from "../format/command-line.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import type { Context } from "../model/context.ts";
import type { Need, Reading } from "../model/data.ts";
import { namedOf, type PackFacts, type PackShelf, type PackTrial, packsNamed } from "../model/documents.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, line, type Span, span } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";

type Reads = Pick<Context, "data" | "subject">;

/** Maximum number of README lines on a pack's page. */
const MAX_README_LINES = 2_000;

function holdingCell({ there, objects, problem, version }: PackFacts): Span {
  if (version === "") return span("! cannot be read", "fail");
  if (problem !== undefined) return span("! does not fit", "warn");
  if (there === objects) return span("all of it", "strong");
  return there === 0 ? span("none of it", "dim") : span(`~ ${there} of ${objects}`, "warn");
}

const COLUMNS: readonly Column<PackFacts>[] = [
  textColumn({ head: "PACK", letter: "p", width: { least: 16, flex: 2 }, priority: 1, cut: "middle" }, (it) => it.name),
  textColumn({ head: "VERSION", letter: "v", width: 8, priority: 4 }, (it) => it.version),
  countColumn({ head: "RULES", letter: "r", width: 6, priority: 3 }, (it) => it.rules),
  countColumn({ head: "CONTROLS", letter: "c", width: 8, priority: 2 }, (it) => it.controls.length),
  {
    id: "in document",
    head: "IN DOCUMENT",
    letter: "d",
    width: 18,
    align: "left",
    priority: 1,
    cell: holdingCell,
    sortKey: ({ there, objects }) => (objects === 0 ? 1 : there / objects),
  },
  textColumn({ head: "TITLE", letter: "t", width: { least: 20, flex: 4 }, priority: 3 }, (it) => it.title),
];

const packsNeed = (subject: string | undefined): Need<"packs"> => ({
  id: "packs",
  ...(subject !== undefined && { name: subject }),
});

const shelfOf = ({ data, subject }: Reads): PackShelf | undefined => data.get(packsNeed(subject))?.value;

const packOf = (context: Reads, name: string): PackFacts | undefined =>
  shelfOf(context)?.packs.find((pack) => pack.name === name);

/** Returns the pack and the local packs that it builds on; bundled ones need not be named. */
function namesFor({ packs }: PackShelf, pack: PackFacts): readonly string[] {
  const names = [pack.name];
  const pending = [...pack.buildsOn];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const base = packs.find((it) => it.id === id);
    if (base === undefined || names.includes(base.name)) continue;
    if (base.name !== base.id) names.push(base.name);
    pending.push(...base.buildsOn);
  }
  return names;
}

/**
 * Returns the need for the trial that adds the pack to the view's source; `undefined` until the packs are known, or if
 * this one cannot be read.
 */
function trialNeed(context: Reads, name: string): Need<"pack_trial"> | undefined {
  const shelf = shelfOf(context);
  const pack = shelf?.packs.find((it) => it.name === name);
  if (shelf === undefined || pack === undefined || pack.version === "") return undefined;
  return { id: "pack_trial", name: namedOf(shelf.source, packsNamed(namesFor(shelf, pack))) };
}

function readingOf(context: Reads, name: string): Reading<PackTrial> | undefined {
  const need = trialNeed(context, name);
  return need === undefined ? undefined : context.data.get(need);
}

const trialOf = (context: Reads, name: string): PackTrial | undefined => readingOf(context, name)?.value;

/** Returns the reason why there is no trial; `undefined` if there is one, possibly of an earlier text. */
function whyUntried(context: Reads, name: string): string | undefined {
  const pack = packOf(context, name);
  if (pack?.version === "") return escapeControls(pack.problem ?? "it cannot be read");
  const { value, progress, failure } = readingOf(context, name) ?? {};
  if (value !== undefined) return undefined;
  if (failure !== undefined) return escapeControls(failure.message);
  return progress === undefined ? "still testing; try again shortly" : `still testing: ${progress}; Esc stops it`;
}

const table = (context: Omit<Context, "now">): Table =>
  tableOf<PackFacts>(
    {
      columns: COLUMNS,
      idOf: ({ name }) => name,
      nameOf: ({ name }) => name,
      haystack: ({ name, title, controls }) => [name, title, ...controls.map(({ id }) => id)].join(" "),
      isBad: ({ problem }) => problem !== undefined,
      jsonOf: ({ readme: _, ...pack }) => pack,
    },
    shelfOf(context)?.packs ?? [],
  );

const CHANGES = {
  added: { sign: "+", tone: "strong", label: "would be added" },
  present: { sign: "=", tone: "dim", label: "already present" },
  controls: { sign: "~", tone: "changed", label: "there; gets controls" },
} as const;

const objectLines = ({ objects }: PackTrial): readonly Line[] =>
  objects.map(({ pack, list, name, change, controls }) => {
    const { sign, tone, label } = CHANGES[change];
    return [
      span(`${sign} `, tone),
      shown(`${list} ${name}`, tone),
      shown(`  ${label}${controls.length === 0 ? "" : `: ${controls.join(", ")}`}`),
      shown(`  (${pack})`, "dim"),
    ];
  });

function tallyLine({ objects }: PackTrial): Line {
  const number = (kind: keyof typeof CHANGES): number => objects.filter(({ change }) => change === kind).length;
  const controls = number("controls") === 0 ? "" : `, ${number("controls")} to get controls`;
  return line(`${number("added")} to add${controls}, ${number("present")} already present`);
}

function casesLine({ cases }: PackTrial): Line {
  if (cases === undefined) return line("could not be run", "warn");
  const sum = cases.lines.at(-2) ?? cases.lines[0] ?? "";
  return cases.passes
    ? shownLine(`pass: ${sum}`)
    : [shown(`! cases fail: ${cases.lines.find((it) => /fail/i.test(it)) ?? sum}`, "fail")];
}

const shownLine = (text: string): Line => [shown(text)];

/** Returns the results of the cases and the compiler, for pane and dialog. */
function verdictLines(trial: PackTrial): readonly Line[] {
  return [
    ...compilingLines(trial).map((it) => labeledLine("compiles", ...it)),
    labeledLine("its cases", ...casesLine(trial)),
  ];
}

function pane(name: string, context: Context): readonly Line[] {
  const pack = packOf(context, name);
  if (pack === undefined) return [];
  const { buildsOn, controls } = pack;
  if (pack.version === "") {
    return (pack.problem ?? "").split("\n").map((it) => labeledLine("", shown(`! ${it}`, "fail")));
  }
  const reading = readingOf(context, name);
  const trial = reading?.value;
  const builds = buildsOn.length === 0 ? [] : [span(`  on ${escapeControls(buildsOn.join(", "))}`, "dim")];
  return [
    labeledLine("covers", shown(pack.title), ...builds),
    labeledLine("controls", shown(controls.map(({ id }) => id).join(", "))),
    ...(reading?.failure === undefined ? [] : [labeledLine("add", shown(`! ${reading.failure.message}`, "fail"))]),
    ...(reading?.progress === undefined
      ? []
      : [labeledLine("trying", shown(reading.progress), span("  Esc stops it", "dim"))]),
    ...(trial === undefined
      ? reading?.progress === undefined && reading?.failure === undefined
        ? [labeledLine("add", span("tested next: the document is compiled, and the test cases of the pack run", "dim"))]
        : []
      : [labeledLine("add", ...tallyLine(trial)), ...verdictLines(trial), ...objectLines(trial)]),
  ];
}

function describePack(name: string, context: Context): readonly Line[] {
  const pack = packOf(context, name);
  if (pack === undefined) return [line("It no longer exists.", "warn")];
  return [
    line(escapeControls(`${pack.id} ${pack.version}: ${pack.title}`), "strong"),
    BLANK,
    ...pack.controls.map((control) => [
      shown(`${control.id}  `, "strong"),
      shown(control.title),
      shown(`  ${control.citation}`, "dim"),
    ]),
    BLANK,
    ...pack.readme
      .split("\n")
      .slice(0, MAX_README_LINES)
      .map((text) => shownLine(text)),
  ];
}

function previewLines(trial: PackTrial): readonly Line[] {
  return [
    line(
      trial.change === undefined ? "Nothing was written." : `Nothing was written: ${locationText(trial.change)}.`,
      "dim",
    ),
    BLANK,
    ...objectLines(trial),
    BLANK,
    ...verdictLines(trial),
    ...(trial.blockedReason === undefined ? [] : [labeledLine("writing", shown(trial.blockedReason, "warn"))]),
    BLANK,
    ...differenceOfTrial(trial),
    BLANK,
    line("Its cases", "strong"),
    ...(trial.cases?.lines ?? []).map((text) => shownLine(text)),
  ];
}

function commandNames(name: string, context: Reads): string {
  const shelf = shelfOf(context);
  const pack = packOf(context, name);
  const names = shelf === undefined || pack === undefined ? [name] : namesFor(shelf, pack).toReversed();
  return names.map(quoted).join(" ");
}

const one = ({ ids: [name = ""] }: Selection): string => name;

function whyNotAddable(name: string, context: Context): string | undefined {
  const trial = trialOf(context, name);
  const api = shelfOf(context)?.file === undefined ? whyNotWritable(context) : undefined;
  if (api !== undefined) return api;
  const untried = whyUntried(context, name);
  if (untried !== undefined) return untried;
  if (trial?.cases?.passes === false) return `the test cases of ${escapeControls(name)} fail; p shows them`;
  return whyTrialBlocks(trial);
}

export const packsView: View = {
  id: "packs",
  aliases: ["pack"],
  title: "Packs",
  about: "control packs: what each covers, how much of it the document contains, and what adding it would change",
  subject: "a source, folders of your own packs (./packs), or both",
  takesPaths: true,
  needs: (subject) => [{ id: "list_sources" }, { id: "get_config" }, packsNeed(subject)],
  body: {
    kind: "table",
    table,
    sort: { column: "pack", isDescending: false },
    above(context) {
      const shelf = shelfOf(context);
      return shelf === undefined ? [] : [labeledLine("document", span(locationText(shelf)))];
    },
    aboveRows: 2,
    pane,
    paneNeeds(name, context) {
      const need = trialNeed(context, name);
      return need === undefined ? [] : [need];
    },
    rowNeeds: (subject) => [packsNeed(subject)],
    empty: () => ({ sentence: "This program has no built-in packs.", next: "`:packs ./FOLDER` reads your own packs" }),
    describe: describePack,
  },
  offers: [
    {
      verb: "preview",
      label: "preview add",
      needsRow: true,
      disabledReason: (of, context) => whyUntried(context, one(of)),
      start(of, context) {
        const trial = trialOf(context, one(of));
        return trial === undefined
          ? { kind: "flash", message: whyUntried(context, one(of)) ?? "" }
          : {
              kind: "page",
              title: `${escapeControls(one(of))}, what adding it would change`,
              lines: previewLines(trial),
            };
      },
    },
    {
      verb: "difference",
      needsRow: true,
      disabledReason: (of, context) => whyUntried(context, one(of)) ?? whyTrialBlocks(trialOf(context, one(of))),
      start(of, context) {
        const trial = trialOf(context, one(of));
        const lines = trial === undefined ? [] : differenceOfTrial(trial);
        return { kind: "page", title: `${escapeControls(one(of))}, the difference`, lines };
      },
    },
    {
      verb: "create",
      label: "add",
      needsRow: true,
      disabledReason: (of, context) => whyNotAddable(one(of), context),
      start(of, opened) {
        const name = one(of);
        const id = packOf(opened, name)?.id ?? name;
        const dialog = trialDialog(
          {
            title: `Add pack ${escapeControls(id)}`,
            done: `${escapeControls(id)} is added`,
            typed: id,
            label: "type the name of the pack",
            trial: (context) => trialOf({ ...context, subject: opened.subject }, name),
            blockedReason: (context) => whyNotAddable(name, context),
            lines(context) {
              const trial = trialOf(context, name);
              return trial === undefined
                ? []
                : [
                    ["Objects", tallyLine(trial)],
                    ...objectLines(trial).map((it) => ["", it] as const),
                    ["Its cases", casesLine(trial)],
                  ];
            },
            command: ({ file }, context) =>
              file === undefined
                ? []
                : [`gateway pack add -deployment ${quoted(file)} -write ${commandNames(name, context)}`],
          },
          opened,
        );
        return { kind: "dialog", dialog };
      },
    },
  ],
};
