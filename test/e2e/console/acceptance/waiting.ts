/** Acceptance item 4, the rest: views whose rows are pending, and views that the node's policy does not permit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BASE_PATH, OPERATIONS } from "../../../../src/admin-api/index.ts";
import { startPlane } from "../../admin/support/plane.ts";
import { provider } from "../../config/support/nodes.ts";
import { type ConsoleGateway, openConsole } from "../support/console-gateway.ts";
import { openEndpoint } from "../support/endpoint.ts";
import { SIZES, shows, sweep, VIEWS_UNDER_TEST } from "../support/views.ts";

const STATUS_PATH = `${BASE_PATH}${OPERATIONS.get_status.path}`;
const deployment = { providers: [provider("one", "http://127.0.0.1:9")] };

/** Actions that every console may show. */
const POLICY = `permit(principal, action in [Action::"get_status", Action::"list_models", Action::"list_profiles"], resource);`;
const PERMITTED: ReadonlyMap<string, RegExp> = new Map([
  ["overview", /Not read: .*forbidden/],
  ["models", /No model is routed|one/],
  ["profiles", /No profiles\./],
]);

export function waitingTests({ socket: socketPath }: ConsoleGateway, isShort: boolean): void {
  for (const [turn, size] of SIZES.entries()) {
    test(`a view whose rows have not arrived says that it is loading, at ${size.join(" by ")}`, async (t) => {
      const { socket } = await openEndpoint(t, socketPath, ({ path }) => {
        return path === STATUS_PATH ? undefined : { kind: "stalls" };
      });
      const [columns, rows] = size;
      const console = await openConsole(t, { socket, columns, rows }, "LEADER");
      const views = VIEWS_UNDER_TEST.filter(({ id, reads }) => reads && id !== "overview").filter(
        // In a short run each view has one of the sizes.
        (_, at) => !isShort || at % SIZES.length === turn,
      );
      await sweep(console, ({ title }) => shows(console, new RegExp(`${title} .*loading.* loading `)), {
        sizes: [size],
        views,
      });
    });
  }

  test("a view without permission names the missing action, and the other views work", async (t) => {
    const { local } = await startPlane(t, { deployment, policy: POLICY });
    assert.equal(local.kind, "local");
    const console = await openConsole(t, { socket: local.socketPath });
    await sweep(
      console,
      async ({ id, reads, normal }) => {
        const permitted = PERMITTED.get(id);
        if (permitted !== undefined) return shows(console, permitted);
        if (!reads) return shows(console, normal);
        await shows(
          console,
          /forbidden/,
          /Your policy does not permit (list|get)_\w+/,
          /403 forbidden: /,
          /Ask an administrator to permit it in the admin policy; press r to try again\./,
        );
      },
      { isShort },
    );
  });
}
