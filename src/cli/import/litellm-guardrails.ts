/**
 * Converts `guardrails`: Presidio to a remote analyzer, and lists of blocked words. Source: docs.litellm.ai,
 * "proxy/guardrails/quick_start", "proxy/guardrails/pii_masking_v2", "proxy/guardrails/litellm_content_filter".
 */

import { baseUrlOf } from "./base-urls.ts";
import type { Entry, ReaderInput } from "./deployment-draft.ts";
import { type Section, textOf } from "./foreign-source.ts";
import {
  denyRule,
  type Guards,
  isEntity,
  label,
  REQUEST_KINDS,
  redactRule,
  wordDetector,
} from "./word-and-entity-guardrails.ts";

const MAX_WORDS = 10_000;

export function litellmGuardrails(reading: ReaderInput): Guards {
  const detectors: Entry[] = [];
  const rules: Entry[] = [];
  const names = new Set<string>();
  let holdsStreams = false;
  for (const section of reading.source.root.sections("guardrails")) {
    const name = label(section.text("guardrail_name") ?? "guardrail");
    const params = section.section("litellm_params");
    section.leaveOutKey("guardrail_info", "left out: it only describes the guardrail");
    section.noteUnread({}, "left out: no counterpart");
    if (params === undefined) continue;
    if (names.has(name)) {
      section.addNote("guardrail_name", "left out: a guardrail above has the same name");
      continue;
    }
    names.add(name);
    const made = guardrail(name, params, reading);
    if (made === undefined) {
      reading.source.leaveOut(section.path);
      continue;
    }
    detectors.push(...made.detectors);
    rules.push(...made.rules);
    holdsStreams ||= made.holdsStreams === true;
  }
  return { detectors, rules, holdsStreams };
}

function guardrail(name: string, params: Section, reading: ReaderInput): Guards | undefined {
  const kind = params.text("guardrail");
  const modes = params.texts("mode");
  const isOn = params.flag("default_on") === true;
  if (kind !== "presidio" && kind !== "litellm_content_filter") {
    params.addNote(
      "guardrail",
      "left out: no counterpart; the detectors are pii, remote (Presidio), nlp, classify, embed and llm",
    );
    return undefined;
  }
  if (!isOn) {
    params.addNote(
      "guardrail",
      "left out: it runs only for requests that name it, and guardrails of the gateway run for all; set `default_on: true` and import again",
    );
    return undefined;
  }
  const kinds = kindsOf(modes);
  if (kinds.length === 0) {
    params.addNote(
      "mode",
      "left out: expected pre_call, during_call or post_call; for logging only, add the detector with `mode: shadow`",
    );
    return undefined;
  }
  return kind === "presidio" ? presidio(name, params, kinds, reading) : wordGuards(name, params, kinds);
}

const kindsOf = (modes: readonly string[]): readonly string[] => [
  ...(modes.some((mode) => mode === "pre_call" || mode === "during_call") ? REQUEST_KINDS : []),
  ...(modes.includes("post_call") ? ["output"] : []),
];

function presidio(name: string, params: Section, kinds: readonly string[], reading: ReaderInput): Guards | undefined {
  const { variables } = reading;
  const endpoint =
    baseUrlOf(params, "presidio_analyzer_api_base", undefined, variables, "PRESIDIO_ANALYZER_API_BASE") ??
    variables.referenceTo("PRESIDIO_ANALYZER_API_BASE", "address");
  const language = params.text("presidio_language");
  const entities = actions(params.section("pii_entities_config"));
  params.noteUnread(PRESIDIO_ADVICE, "left out: no counterpart");
  const masked = entities.filter(({ action }) => action === "MASK").map(({ entity }) => `pii/${entity}`);
  const blocked = entities.filter(({ action }) => action === "BLOCK").map(({ entity }) => `pii/${entity}`);
  if (entities.length === 0)
    params.addNote("guardrail", "no entity has an action, so everything that is found is masked");
  const detector = {
    type: "remote",
    name,
    ...(entities.length > 0 && { entities: entities.map(({ entity }) => entity) }),
    apply_to: kinds,
    on_error: "fail_closed",
    remote: { endpoint, ...(language !== undefined && /^[a-z]{2}$/.test(language) && { language }) },
  };
  const holdsStreams = kinds.includes("output") && (masked.length > 0 || entities.length === 0);
  if (holdsStreams)
    params.addNote(
      "mode",
      "streamed answers are held back to their end, because masking needs the whole text (`guardrails.stream.policy: buffer`)",
    );
  return {
    holdsStreams,
    detectors: [detector],
    rules: [
      ...(blocked.length > 0 ? [denyRule(`${name}: block`, name, blocked)] : []),
      ...(masked.length > 0 ? [redactRule(`${name}: mask`, name, masked)] : []),
      ...(entities.length === 0
        ? [
            {
              name: `${name}: mask`,
              when: 'annotations.exists(a, a.category == "pii")',
              requires: [name],
              action: "redact",
            },
          ]
        : []),
    ],
  };
}

function actions(section: Section | undefined): readonly { readonly entity: string; readonly action: string }[] {
  return (section?.keys ?? []).flatMap((entity) => {
    const action = section?.text(entity)?.toUpperCase();
    if (isEntity(entity) && (action === "MASK" || action === "BLOCK")) return [{ entity, action }];
    section?.addNote(entity, "left out: expected an entity type with MASK or BLOCK");
    return [];
  });
}

function wordGuards(name: string, params: Section, kinds: readonly string[]): Guards | undefined {
  const blocked = params.sections("blocked_words").flatMap((section) => {
    const tree = section.tree("keyword");
    const keyword = tree && textOf(tree);
    const action = section.text("action")?.toUpperCase();
    section.leaveOutKey("description", "left out: it only describes the word");
    if (keyword !== undefined && keyword.trim() !== "" && (action === "BLOCK" || action === "MASK"))
      return [{ keyword, action }];
    section.addNote("keyword", "left out: expected a word with BLOCK or MASK");
    return [];
  });
  params.noteUnread(
    { patterns: "left out: add `custom_recognizers`, or name entity types of the detector `pii`" },
    "left out: no counterpart",
  );
  if (blocked.length === 0) return undefined;
  const detectors: Entry[] = [];
  const rules: Entry[] = [];
  for (const action of ["BLOCK", "MASK"] as const) {
    const keywords = [...new Set(blocked.filter((it) => it.action === action).map(({ keyword }) => keyword))].slice(
      0,
      MAX_WORDS,
    );
    if (keywords.length === 0) continue;
    const detector = `${name}: ${action === "BLOCK" ? "blocked" : "masked"} words`;
    const entity = `${action === "BLOCK" ? "BLOCKED" : "MASKED"}_WORD`;
    detectors.push(wordDetector(detector, entity, keywords, kinds));
    rules.push((action === "BLOCK" ? denyRule : redactRule)(detector, detector, [`pii/${entity}`]));
  }
  return { detectors, rules };
}

const PRESIDIO_ADVICE: Readonly<Record<string, string>> = {
  presidio_anonymizer_api_base: "left out: the gateway masks by itself, with the `operator` of the rule",
  presidio_score_thresholds: "left out: set `threshold` of the detector",
  presidio_filter_scope: "left out: `apply_to` of the detector decides what is inspected",
  presidio_ad_hoc_recognizers: "left out: add them to the analyzer, or as `custom_recognizers` of a detector `pii`",
  output_parse_pii: "left out: masked values are not restored in answers; the operator `fpe` with `restore` does that",
};
