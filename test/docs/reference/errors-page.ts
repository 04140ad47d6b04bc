/** Page of error codes: cause, what the client sees, and what to do. */

import { GatewayError, REFUSALS, type RefusalCode } from "../../../src/base/index.ts";
import { rpcRefusal } from "../../../src/server/core/agents/index.ts";
import { refusalBody } from "../../../src/server/core/dialects/index.ts";
import { anchor, code, fence, type Page, prose, table } from "./page.ts";

const SECTIONS = [
  ["data plane", "Data plane"],
  ["both", "Data plane and admin API"],
  ["admin API", "Admin API"],
] as const;

const ADMIN_EXAMPLE = `{
  "error": {
    "code": "forbidden",
    "message": "The admin policy does not permit write_source on Source::\\"default\\".",
    "details": { "action": "write_source" }
  }
}`;

const pretty = (json: string): string => JSON.stringify(JSON.parse(json), null, 2);

const REQUEST_ID = "39dc67d5-c7d1-4053-8da4-e3d698260faf";

/** Returns the `type` in an error body. */
function typeIn(dialect: "compat" | "messages", refusal: RefusalCode): string {
  const body = JSON.parse(refusalBody(dialect, new GatewayError(refusal, ""), REQUEST_ID)) as {
    error: { type: string };
  };
  return body.error.type;
}

function rowsOf(on: string): readonly (readonly string[])[] {
  return (Object.keys(REFUSALS) as RefusalCode[])
    .filter((name) => REFUSALS[name].on === on)
    .sort()
    .map((name) => {
      const { status, mayRetry, cause, remedy } = REFUSALS[name];
      const sdk = on === "admin API" ? [] : [`${code(typeIn("compat", name))}, ${code(typeIn("messages", name))}`];
      return [
        `${anchor(name)}${code(name)}`,
        String(status),
        mayRetry ? "yes" : "no",
        ...sdk,
        prose(cause),
        prose(remedy),
      ];
    });
}

export function errorsPage(): Page {
  const example = new GatewayError("model_not_allowed", "The profile staff does not allow the model gpt-5.", {
    param: "model",
  });
  const bodies = (["compat", "messages"] as const).map(
    (dialect) =>
      `In the \`${dialect}\` dialect:\n\n${fence("json", pretty(refusalBody(dialect, example, REQUEST_ID)))}`,
  );
  const sections = SECTIONS.map(([on, title]) => {
    const types = on === "admin API" ? [] : ["Type in `compat`, `messages`"];
    return `## ${title}\n\n${table(["Code", "Status", "Retry", ...types, "Cause", "What to do"], rowsOf(on))}`;
  });
  return {
    path: "errors.md",
    title: "Error codes",
    order: 7,
    about: "Every code that the gateway itself answers with: cause, what the client sees, and what to do.",
    body: [
      "The gateway answers with these codes itself. Errors of a provider are passed on or translated and have the provider's code. A code never changes its meaning. Where `Retry` is no, the answer carries `x-should-retry: false`, because the same request would fail again and both official SDKs would send it.",
      "`gateway explain REQUEST-ID` shows what decided a request. The id is in the header `x-gateway-request-id` of every answer.",
      "## What a client sees",
      "A refusal has the form of the caller's dialect, so that official SDKs raise their typed errors.",
      ...bodies,
      `Clients of MCP servers:\n\n${fence("json", pretty(rpcRefusal("mcp", example, "1", REQUEST_ID)))}`,
      `Clients of A2A agents:\n\n${fence("json", pretty(rpcRefusal("a2a", example, "1", REQUEST_ID)))}`,
      `Clients of the admin API, where \`details\` is there if the code has more to say:\n\n${fence("json", ADMIN_EXAMPLE)}`,
      ...sections,
    ].join("\n\n"),
  };
}
