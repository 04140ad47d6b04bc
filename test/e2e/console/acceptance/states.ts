/** Acceptance item 4, against endpoints that are empty or fail: each view says so, with the next step. */
import { test } from "node:test";
import { BASE_PATH, OPERATIONS } from "../../../../src/admin-api/index.ts";
import { type ConsoleGateway, openConsole } from "../support/console-gateway.ts";
import { openEndpoint, type Rule, type RuledAnswer } from "../support/endpoint.ts";
import { shows, sweep } from "../support/views.ts";

const LISTS = Object.entries(OPERATIONS)
  .filter(([id]) => id.startsWith("list_"))
  .map(([, { path }]) => new RegExp(`^${BASE_PATH}${path.replace(/\{\w+\}/g, "[^/]+")}$`));

/** Simulates an idle gateway: a repeated read is held open. */
const hasNothing: Rule = ({ path }, query) => {
  if (!LISTS.some((list) => list.test(path))) return undefined;
  if (query.has("index")) return { kind: "silent" };
  return { kind: "answer", status: 200, json: { items: [], index: 7 } };
};

const failure: RuledAnswer = {
  kind: "answer",
  status: 500,
  json: { error: { code: "internal", message: "the disk is full\nand more of that", details: null } },
};

export function statesTests({ socket: socketPath }: ConsoleGateway, isShort: boolean): void {
  test("an empty view says so in a sentence, and what to do next", async (t) => {
    const { socket } = await openEndpoint(t, socketPath, hasNothing);
    const console = await openConsole(t, { socket });
    await sweep(console, ({ empty, normal }) => shows(console, ...(empty ?? [normal])), { isShort });
  });

  test("a view that fails says that it could not be read, and why", async (t) => {
    const { socket } = await openEndpoint(t, socketPath, () => failure);
    const console = await openConsole(t, { socket }, /Could not be read/);
    await sweep(
      console,
      ({ reads, normal }) => {
        return reads
          ? shows(console, /Could not be read: 500 internal: the disk is full r tries again\./)
          : shows(console, normal);
      },
      { isShort },
    );
  });
}
