/** The report of an import: every setting of the source in one of its tables, and every page that it names. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { linkTo, PAGES } from "../../../src/cli/import/counterparts.ts";
import { importConfiguration, reportText, type System, titleOf } from "../../../src/cli/import/index.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

function report(system: System, text: string): string {
  const imported = importConfiguration(system, { name: "source", text }, new Map());
  assert.equal(imported.kind, "imported");
  if (imported.kind !== "imported") throw new Error("unreachable");
  return reportText(imported, { system, title: titleOf(system), source: "source.yaml", document: "deployment.yaml" });
}

/** Returns the cells of the table below a heading. */
function rowsOf(text: string, heading: string): readonly (readonly string[])[] {
  const [, after = ""] = text.split(`\n## ${heading}\n\n`);
  const lines = after.split("\n\n")[0]?.trimEnd().split("\n") ?? [];
  return lines.slice(2).map((line) => line.slice(2, -2).split(" | "));
}

const SOURCE = `model_list:
  - model_name: big
    litellm_params: { model: openai/gpt-a, api_key: os.environ/KEY_A, rpm: 10 }
    model_info: { id: "1" }
  - model_name: big
    litellm_params: { model: azure/deployed, api_base: https://one.openai.azure.com/, api_key: sk-literal }
  - model_name: lost
    litellm_params: { model: sagemaker/x, api_key: os.environ/KEY_B }
  - model_name: "*"
    litellm_params: { model: "groq/*", api_key: os.environ/KEY_C }
router_settings: { num_retries: 2, routing_strategy: least-busy }
`;

test("a report lists imported, changed and omitted settings by line, with their pages", () => {
  const text = report("litellm", SOURCE);
  assert.match(
    text,
    /^# Import report\n\nThe LiteLLM configuration `source\.yaml` was imported into `deployment\.yaml`\./,
  );
  assert.match(text, /^1\. Set the environment variables `AZURE_API_KEY`, `KEY_A`, `KEY_C`, or use/m);
  assert.deepEqual(rowsOf(text, "Models that clients can ask for"), [
    ["`big`", "`openai`", "`gpt-a`", "`azure-openai`"],
    ["every other name", "`groq`", "the same", ""],
  ]);
  const leftOut = rowsOf(text, "Left out").map(([line, setting, , page]) => [line, setting, page]);
  assert.deepEqual(leftOut, [
    ["3", "`model_list[0].litellm_params.rpm`", "[Budgets](docs/concepts/budgets.md#budgets)"],
    [
      "4",
      "`model_list[0].model_info`",
      "[Which provider serves a model](docs/guides/providers.md#which-provider-serves-a-model)",
    ],
    [
      "8",
      "all of `model_list[2]`",
      "[Which provider serves a model](docs/guides/providers.md#which-provider-serves-a-model)",
    ],
    [
      "11",
      "`router_settings.routing_strategy`",
      "[Fail over to another provider](docs/guides/providers.md#fail-over-to-another-provider)",
    ],
  ]);
  const changed = rowsOf(text, "Changed").map(([line, setting]) => [line, setting]);
  assert.deepEqual(changed, [
    ["1", ""],
    ["5", "`model_list[1].model_name`"],
    ["6", "`model_list[1].litellm_params.api_key`"],
  ]);
  const carried = rowsOf(text, "Carried over").map(([line, part, settings, becomes]) => [
    line,
    part,
    settings,
    becomes,
  ]);
  assert.deepEqual(carried, [
    ["2", "`model_list[0]`", "`model_name`, `litellm_params.model`", "`providers[].models`"],
    ["3", "`model_list[0]`", "`litellm_params.api_key`", "`providers[].api_key`"],
    ["6", "`model_list[1]`", "`litellm_params.model`", "`providers[].models`"],
    ["6", "`model_list[1]`", "`litellm_params.api_base`", "`providers[].base_url`"],
    ["9", "`model_list[3]`", "`model_name`, `litellm_params.model`", "`providers[].models`"],
    ["10", "`model_list[3]`", "`litellm_params.api_key`", "`providers[].api_key`"],
    ["11", "`router_settings`", "`num_retries`", "`providers[].retry`"],
  ]);
  assert.doesNotMatch(text, /sk-literal/);
});

test("a report of an import without any result says what to do", () => {
  const text = report("bifrost", '{ "providers": { "nobody": { "keys": [{ "value": "env.K", "models": ["m"] }] } } }');
  assert.match(text, /could not be imported: no provider was carried over/);
  assert.match(text, /Name unknown providers with `-preset NAME=PRESET`/);
  assert.deepEqual(rowsOf(text, "Carried over"), []);
});

test("names with Markdown characters stay within their cell", () => {
  const params = '{ model: groq/x, "p|q\\n## Forged": 1 }';
  const text = report("litellm", `model_list: [{ model_name: "a\`b|c <b>", litellm_params: ${params} }]`);
  assert.doesNotMatch(text, /^## Forged/m);
  assert.match(text, /\| `` a`b\\\|c <b> `` \| `groq` \|/);
  assert.match(text, /p\\\|q/);
});

/** Returns the anchor of a heading, as Markdown sites make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");

test("every page that a report names exists, with its heading", () => {
  for (const page of PAGES) {
    const [, file = "", anchor] = /\]\((.+)#(.+)\)$/.exec(linkTo(page)) ?? [];
    const headings = [...readFileSync(join(ROOT, file), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, it = ""]) => it);
    assert.ok(headings.includes(page.title), `${file}: ${page.title}`);
    assert.equal(anchor, anchorOf(page.title));
  }
});
