/**
 * Schema of a rule suite, a YAML document for policy reviews: callers by name, then cases, each with a caller, a
 * request or a text for the guardrails, and the expected outcome. It uses the vocabulary of the rules.
 *
 * The traffic type of a request follows from its keys: `server` means MCP, `peer` means A2A, otherwise it is a request
 * to a model.
 */

import type { Json } from "../../server/core/cel/index.ts";
import {
  anything,
  choice,
  list,
  map,
  number,
  object,
  required,
  type Schema,
  type TypeOf,
  text,
} from "../../server/core/config/index.ts";

/** Maximum length of a name, so that it fits a line of output. */
const MAX_NAME_LENGTH = 256;
const MAX_CASES = 10_000;
const MAX_TEXT_LENGTH = 131_072;

const name = (description: string): Schema<string> =>
  text(description, { minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: "^[^\\u0000-\\u001f\\u007f]*$" });

const filled = (description: string): Schema<string> => text(description, { minLength: 1 });

/** Returns a schema of any JSON value, which is all that the YAML reader produces. */
const json = (description: string): Schema<Json> => ({ json: anything(description).json });

/** Returns a schema that also allows a text as the short form of an object. */
const orText = <T>(long: Schema<T>): Schema<string | T> => ({
  json: { ...long.json, type: ["string", "object"], minLength: 1 },
});

const caller = object(
  "Who calls: by a virtual key, or by a token of an agent, of a user, or of a user with the agent that acts for it.",
  {
    key: object("The virtual key.", {
      name: required(filled("Its name.")),
      metadata: map("Its metadata.", text("A value.")),
    }),
    agent: object("The workload that calls.", {
      issuer: filled("Issuer of its token; left out beside a `user`, that of the user."),
      subject: required(filled("Its subject.")),
      name: filled("Its name; left out, its subject."),
    }),
    user: object("The person who calls.", {
      issuer: required(filled("Issuer of the token, as the node file names it.")),
      subject: required(filled("Its subject.")),
      name: filled("Its name; left out, its email, else its subject."),
      email: filled("Its email."),
    }),
    audience: filled("Audience of the token; left out, that of the first fitting entry of `auth.issuers`."),
    claims: map("Claims of the token, by which `auth` selects the profile.", anything("Value of a claim.")),
    profile: filled("Its profile, which a key names; left out of a token, the one that `auth` gives its callers."),
  },
  {
    exclusive: [
      ["key", "user"],
      ["key", "agent"],
      ["key", "claims"],
      ["key", "audience"],
      ["profile", "claims"],
    ],
  },
);

const request = object("What is asked for.", {
  model: filled("Model, as the client names it."),
  provider: filled("Provider that it is about to be sent to; left out, where the model is routed to."),
  route: filled("Route, such as `chat_completions`, which it is for a model when left out."),
  server: filled("MCP server."),
  peer: filled("A2A agent."),
  method: filled("JSON-RPC method."),
  name: filled("Tool, prompt or resource that is named."),
  args: map("Arguments of the tool call.", json("An argument.")),
  role: choice("Role of the message.", ["ROLE_USER", "ROLE_AGENT"]),
  task_id: filled("Task that is named."),
  context_id: filled("Context that is named."),
  parts: list(
    "Parts of the message.",
    object("A part.", {
      kind: required(choice("What it is.", ["text", "file", "data"])),
      media_type: text("Its media type."),
      url: text("Where it is."),
      filename: text("Name of its file."),
    }),
    { maxItems: 1_000 },
  ),
});

const typeOfFinding = text("A type.", { pattern: "^[a-z0-9_.-]+/\\S+$", examples: ["pii/EMAIL_ADDRESS"] });

const findings = list(
  "What one of them finds; empty: nothing.",
  orText(
    object("A finding.", {
      type: required(typeOfFinding),
      score: number("Its score; 1 when left out.", { minimum: 0, maximum: 1 }),
    }),
  ),
);

const guardrail = object("A text that guardrails look at.", {
  kind: choice("What it is, which is `user` when left out; `output`: of an answer, all others of a request.", [
    "system",
    "user",
    "assistant",
    "tool_args",
    "tool_result",
    "output",
    "header",
    "query",
  ]),
  text: required(text("The text.", { minLength: 1, maxLength: MAX_TEXT_LENGTH })),
  model: filled("Model that is asked for, as rules read it."),
  route: filled("Route, as rules read it; `chat_completions` when left out."),
  given: map(
    "What detectors find in the text as a whole, by their names, in place of asking them: of those that need a model or a server.",
    findings,
  ),
});

const by = object("The rule that decides.", {
  rule: required(filled("Its name.")),
  profile: filled("Profile that it is of; left out, it is one of the deployment's."),
});

const oneCase = object("A request and what becomes of it.", {
  name: required(name("What it shows, in a few words; unique in the suite.")),
  caller: orText(caller),
  request,
  guardrail,
  expect: required(
    choice(
      "What becomes of it; `redact`: a text goes on rewritten; `error`: a rule that cannot be evaluated refuses it.",
      ["allow", "redact", "deny", "error"],
    ),
  ),
  by: orText(by),
  message: text("Message that the caller gets, exactly."),
  reaches: list(
    "Providers that it may be sent to, in order: the one it is routed to, then those of its failover that the rules admit.",
    filled("Name of a provider."),
    { minItems: 1, uniqueItems: true },
  ),
  rewritten: text("The text of the guardrail as it goes on, exactly."),
  types: list("Types of all that the guardrail's detectors find, in any order; empty: nothing.", typeOfFinding, {
    uniqueItems: true,
  }),
});

export const suiteSchema = object("Cases that a policy must keep.", {
  suite: required(name("Name of the suite.")),
  description: text("What the suite is about, for its readers."),
  given: map("What a detector finds where the `guardrail` of a case gives nothing of it.", findings),
  callers: map("Callers, by the names that cases use.", caller),
  cases: required(list("The cases.", oneCase, { minItems: 1, maxItems: MAX_CASES })),
});

export type Suite = TypeOf<typeof suiteSchema>;
export type CallerText = TypeOf<typeof caller>;
export type RequestText = TypeOf<typeof request>;
export type GivenText = Readonly<Record<string, TypeOf<typeof findings>>>;
export type GuardrailText = TypeOf<typeof guardrail>;
export type CaseText = TypeOf<typeof oneCase>;
