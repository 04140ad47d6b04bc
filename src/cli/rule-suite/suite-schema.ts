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

const nonEmptyText = (description: string): Schema<string> => text(description, { minLength: 1 });

/** Returns a schema of any JSON value, which is all that the YAML reader produces. */
const json = (description: string): Schema<Json> => ({ json: anything(description).json });

/** Returns a schema that also allows a text as the short form of an object. */
const orText = <T>(long: Schema<T>): Schema<string | T> => ({
  json: { ...long.json, type: ["string", "object"], minLength: 1 },
});

const caller = object(
  "The caller: a virtual key, or a token of an agent, of a user, or of a user with the agent that acts for the user.",
  {
    key: object("The virtual key of the caller.", {
      name: required(nonEmptyText("Name of the key.")),
      metadata: map("Metadata of the key.", text("A value.")),
    }),
    agent: object("The agent that calls.", {
      issuer: nonEmptyText("Issuer of the agent's token. The default is the issuer of `user`."),
      subject: required(nonEmptyText("Subject of the agent's token.")),
      name: nonEmptyText("Readable name of the agent. The default is the subject."),
    }),
    user: object("The user who calls.", {
      issuer: required(nonEmptyText("Name of the token's issuer in the node file.")),
      subject: required(nonEmptyText("Subject of the token.")),
      name: nonEmptyText("Readable name of the user. The default is the email address, then the subject."),
      email: nonEmptyText("Email address of the user."),
    }),
    audience: nonEmptyText("Audience of the token. The default is that of the first matching entry of `auth.issuers`."),
    claims: map("Claims of the token, by which `auth` selects the profile.", anything("Value of a claim.")),
    profile: nonEmptyText("Profile of the caller. For a token the default is the profile that `auth` assigns."),
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

const request = object("The request of a case.", {
  model: nonEmptyText("Requested model, as the client names it."),
  provider: nonEmptyText("Provider that the request is sent to. The default is the provider that serves the model."),
  route: nonEmptyText("Route of the request. For a model the default is `chat_completions`."),
  server: nonEmptyText("Name of the MCP server."),
  peer: nonEmptyText("Name of the A2A agent."),
  method: nonEmptyText("JSON-RPC method."),
  name: nonEmptyText("Name of the tool, prompt or resource."),
  args: map("Arguments of the tool call.", json("An argument.")),
  role: choice("Role of the message.", ["ROLE_USER", "ROLE_AGENT"]),
  task_id: nonEmptyText("Id of the task."),
  context_id: nonEmptyText("Id of the context."),
  parts: list(
    "Parts of the message.",
    object("A part.", {
      kind: required(choice("Kind of the part.", ["text", "file", "data"])),
      media_type: text("Media type of the part."),
      url: text("URL of the file."),
      filename: text("Name of the file."),
    }),
    { maxItems: 1_000 },
  ),
});

const typeOfFinding = text("Type of a finding, as `<category>/<LABEL>`.", {
  pattern: "^[a-z0-9_.-]+/\\S+$",
  examples: ["pii/EMAIL_ADDRESS"],
});

const findings = list(
  "Findings of the detector. An empty list means that it finds nothing.",
  orText(
    object("A finding.", {
      type: required(typeOfFinding),
      score: number("Score of the finding. The default is 1.", { minimum: 0, maximum: 1 }),
    }),
  ),
);

const guardrail = object("A text that guardrails inspect.", {
  kind: choice(
    "Kind of the text. `output` is text of an answer, and all others are text of a request. The default is `user`.",
    ["system", "user", "assistant", "tool_args", "tool_result", "output", "header", "query"],
  ),
  text: required(text("The text.", { minLength: 1, maxLength: MAX_TEXT_LENGTH })),
  model: nonEmptyText("Requested model, for rules that read it."),
  route: nonEmptyText("Route, for rules that read it. The default is `chat_completions`."),
  given: map(
    "Findings of detectors by name. They replace detectors that need a model or a server, which are not run.",
    findings,
  ),
});

const by = object("The rule that decides.", {
  rule: required(nonEmptyText("Name of the rule.")),
  profile: nonEmptyText("Profile that contains the rule. By default the rule is one of the deployment."),
});

const oneCase = object("A request or text, and the expected outcome.", {
  name: required(name("Name of the case, in a few words. It is unique in the suite.")),
  caller: orText(caller),
  request,
  guardrail,
  expect: required(
    choice(
      "Expected outcome. `redact`: the text is forwarded after rewriting. `error`: it is refused because a rule cannot be evaluated.",
      ["allow", "redact", "deny", "error"],
    ),
  ),
  by: orText(by),
  message: text("Exact message that the caller receives."),
  reaches: list(
    "Providers that the request can be sent to, in order: the provider of the route, then the failover targets that the rules allow.",
    nonEmptyText("Name of a provider."),
    { minItems: 1, uniqueItems: true },
  ),
  rewritten: text("Exact text after rewriting."),
  types: list("Types of all findings, in any order. An empty list means that nothing is found.", typeOfFinding, {
    uniqueItems: true,
  }),
});

export const suiteSchema = object("Test cases for access rules and guardrails.", {
  suite: required(name("Name of the suite.")),
  description: text("Purpose of the suite, for its readers."),
  given: map("Findings of detectors by name, for cases whose `guardrail` gives none.", findings),
  callers: map("Callers, by the names that cases refer to.", caller),
  cases: required(list("The test cases.", oneCase, { minItems: 1, maxItems: MAX_CASES })),
});

export type Suite = TypeOf<typeof suiteSchema>;
export type CallerText = TypeOf<typeof caller>;
export type RequestText = TypeOf<typeof request>;
export type GivenText = Readonly<Record<string, TypeOf<typeof findings>>>;
export type GuardrailText = TypeOf<typeof guardrail>;
export type CaseText = TypeOf<typeof oneCase>;
