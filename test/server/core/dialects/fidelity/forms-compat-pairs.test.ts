/** Forms of a chat completion request that involve two settings, or are deep in a schema. */
import { PLAIN } from "./compat-requests.ts";
import { testForms } from "./uses-table.ts";

const answers = (of: object) => ({
  response_format: { type: "json_schema", json_schema: { name: "answer", ...of } },
});
const within = (schema: object) => ({ type: "object", properties: { a: { type: "array", items: schema } } });

testForms({
  dialect: "compat",
  plain: PLAIN,
  losses: [
    ...[
      { reasoning_effort: "low" },
      { reasoning: { max_tokens: 2000 } },
      { reasoning: { enabled: true } },
      { thinking: { type: "adaptive" } },
    ].flatMap((thinking) => [
      {
        title: `a temperature beside ${JSON.stringify(thinking)}`,
        request: { temperature: 0.5, ...thinking },
        capability: "sampling" as const,
        place: "temperature",
      },
      {
        title: `a top_p below 0.95 beside ${JSON.stringify(thinking)}`,
        request: { temperature: 1, top_p: 0.94, ...thinking },
        capability: "sampling" as const,
        place: "top_p",
      },
      {
        title: `top_k beside ${JSON.stringify(thinking)}`,
        request: { top_k: 40, ...thinking },
        capability: "top_k" as const,
        place: "top_k",
      },
    ]),
    ...[
      { title: "other properties", schema: { type: "object", additionalProperties: true } },
      { title: "other properties of a schema", schema: { properties: {}, additionalProperties: { type: "string" } } },
      { title: "other properties within", schema: within({ type: "object", additionalProperties: true }) },
      { title: "more than can be looked through", schema: within({ anyOf: Array(6000).fill({}) }) },
    ].map(({ title, schema }) => ({
      title: `an answer whose schema allows ${title}`,
      request: answers({ schema }),
      capability: "json_schema" as const,
      place: "response_format.json_schema.schema",
    })),
    {
      title: "an answer of no schema",
      request: answers({}),
      capability: "json_schema",
      place: "response_format.json_schema.schema",
    },
  ],
  kept: [
    {
      title: "a top_p of 0.95 beside thinking",
      request: { reasoning_effort: "low", temperature: 1, top_p: 0.95, top_k: 0 },
    },
    {
      title: "sampling beside thinking that is switched off",
      request: { reasoning_effort: "none", temperature: 0.5, top_p: 0.5, top_k: 40 },
    },
    {
      title: "an answer whose schema says nothing of other properties",
      request: answers({ schema: within({ type: "object" }) }),
    },
    {
      title: "an answer whose schema has no other properties",
      request: answers({ schema: { ...within({ type: "string" }), additionalProperties: false } }),
    },
  ],
});
