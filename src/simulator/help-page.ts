/** Text of `GET /`: how to call the simulated provider, and its table of faults. */

import { QUIRKS } from "./agents/quirks.ts";
import { FAULTS } from "./fault-table.ts";
import { TOOLS } from "./mcp/simulated-tools.ts";
import { MAX_RECENT } from "./recent-requests.ts";
import { REPORT_SETTINGS } from "./reports/report-settings.ts";
import { RESPONSE_VARIANTS } from "./response-variants.ts";

export function helpText(url: string): string {
  return `The simulated provider: both dialects, with answers that follow from the question alone.

  compat    base URL ${url}/v1   (chat/completions, completions, embeddings, responses, audio, images, moderations, rerank,
                              batches, vector_stores)
  messages  base URL ${url}      (v1/messages, v1/messages/count_tokens, v1/messages/batches)
  both      ${url}/v1/models, ${url}/v1/files
  MCP       ${url}/mcp     (revision 2026-07-28: tools, resources, prompts, tasks, subscriptions)
  A2A       ${url}/a2a     (1.0 over JSON-RPC; its card is at /.well-known/agent-card.json)
  reports   ${url}/v1/organization/usage/completions, …/embeddings; ${url}/v1/organizations/usage_report/messages
  sockets   ${url.replace("http", "ws")}/v1/realtime?model=NAME, ${url.replace("http", "ws")}/v1/responses

Try it:

  curl ${url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "sim-small", "messages": [{"role": "user", "content": "Hello!"}]}'

Any model name works. These ask for a fault; what follows a colon does not matter (sim-429:blue):

${tableOf(FAULTS)}

These ask for a manner of answering, or of refusing; a plus joins them (sim-calls-2+text-first):

${tableOf(RESPONSE_VARIANTS)}

Servers and agents are asked for faults by a name in their path, /mcp/sim-503 or /a2a/sim-slow-2s; where the path asks
for none, the name of a tool that is called does (sim-never), and the first word of a message. All but sim-close of the
faults above work, and these; a plus joins them (/mcp/sim-stream+cr):

${tableOf(SERVER_QUIRKS)}

Tools: ${TOOLS.map(({ name }) => name).join(", ")}.

Of those, agents know the ones down to sim-leak, and these:

${tableOf(AGENT_QUIRKS)}

Messages that begin with "report [STEPS] [MS]", "book" or "fail" make tasks; others are said again.

A batch is done when it is asked for the second time, and so is a file of a vector store. In a batch a fault of a status
is the answer of its request; others do not apply. What is uploaded is kept in memory, and the oldest leaves first.

A request that a real provider would refuse is refused as it would be, whatever the model.

GET /sim/counts says what was received and how it ended; GET /sim/last tells the newest request and
GET /sim/last?n=5 the last five (${MAX_RECENT} at most): body, names of headers, and what was understood. POST /sim/reset forgets all of it;
POST /sim/change changes the list of tools.

The usage reports count what was really answered. GET /sim/reports lists it; POST /sim/reports changes their settings:

${tableOf(REPORT_SETTINGS)}
`;
}

const SERVER_QUIRKS = QUIRKS.filter(({ of }) => of !== "a2a");
const AGENT_QUIRKS = QUIRKS.filter(({ of }) => of === "a2a");

function tableOf(rows: readonly { readonly name: string; readonly effect: string }[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map(({ name, effect }) => `  ${name.padEnd(width)}  ${effect}`).join("\n");
}
