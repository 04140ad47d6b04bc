/** Acceptance item 5: three keys suspend the failing provider, and no accidental input does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../support/wait.ts";
import { type ConsoleGateway, KEYS, openConsole, PROVIDERS } from "../support/console-gateway.ts";
import { openEndpoint } from "../support/endpoint.ts";

export function suspendTests({ node, socket }: ConsoleGateway): void {
  const suspended = async (): Promise<readonly string[]> => {
    const { items } = await node.client.call("list_suspensions");
    return items
      .filter(({ status, name }) => status === "active" && name !== PROVIDERS.idle)
      .map(({ kind, name }) => `${kind}:${name}`);
  };

  test("Enter, a paste or any other letter does not send a suspension", async (t) => {
    const endpoint = await openEndpoint(t, socket);
    const console = await openConsole(t, { socket: endpoint.socket });
    await console.until("FAIL");
    const writes = () => endpoint.requests.filter(({ method }) => method !== "GET");
    await console.press("2", "s");
    await console.until(`Suspend provider:${PROVIDERS.failing}`);
    await console.press("enter", "enter");
    await console.until("y confirms");
    for (const text of ["y", "y\r", "y\ny\n"]) {
      console.paste(text);
      await console.until("the pasted text was ignored");
      await console.settled();
      assert.match(console.screen(), /Suspend provider:/, "the dialog is still open");
    }
    for (const letter of "nYqsx1:/?") {
      await console.press(letter, "y");
      await console.until("no field is selected", `${letter} does nothing, and neither does a y after it`);
      assert.match(console.screen(), /Suspend provider:/, "the dialog is still open");
    }
    await console.press("esc");
    await console.until((screen) => !screen.includes("Suspend provider:"));
    // Any earlier request has arrived before this one.
    await console.press("9");
    console.type("select 1 as one");
    await console.press("ctrl-r");
    await console.until("1 row");
    assert.deepEqual(
      writes().map(({ method, path }) => `${method} ${path}`),
      ["POST /admin/v1/query"],
    );
    assert.deepEqual(await suspended(), []);
  });

  test("a reason typed at once is taken as text and triggers no keys of the view below", async (t) => {
    const endpoint = await openEndpoint(t, socket);
    const console = await openConsole(t, { socket: endpoint.socket });
    await console.until("FAIL");
    for (const text of ["busy", "buyers", "XRBPLu y"]) {
      await console.press("2", "s");
      await console.until(`Suspend provider:${PROVIDERS.failing}`);
      console.type(text);
      await console.until(`[${text}`);
      await console.press("esc");
      await console.until((screen) => !screen.includes("Suspend provider:"));
    }
    assert.deepEqual(
      endpoint.requests.filter(({ method }) => method !== "GET"),
      [],
    );
    assert.deepEqual(await suspended(), []);
  });

  test("a suspension takes 2, s, Enter, y and one request", async (t) => {
    const endpoint = await openEndpoint(t, socket);
    const console = await openConsole(t, { socket: endpoint.socket });
    await console.until("FAIL");
    await console.press("2", "s", "enter", "y");
    const name = `provider:${PROVIDERS.failing}`;
    await console.until(`${name} suspended`);
    assert.deepEqual(
      await eventually("the suspension", async () => ((await suspended()).length > 0 ? suspended() : false)),
      [name],
    );
    await console.until(/acme-alt +~?SUSPENDED[\s\S]+lifts in/);
    const writes = endpoint.requests.filter(({ method }) => method !== "GET");
    assert.deepEqual(
      writes.map(({ method, path }) => `${method} ${path}`),
      [`PUT /admin/v1/suspensions/${name}`],
    );
    await console.press("u");
    await console.until(`${name} takes traffic again`);
    await console.press("y");
    await eventually("its end", async () => (await suspended()).length === 0);
  });

  test("a suspension can start with :suspend and the name or on the provider's page, and changes nothing before y", async (t) => {
    const endpoint = await openEndpoint(t, socket);
    const console = await openConsole(t, { socket: endpoint.socket });
    await console.until("FAIL");
    const name = `provider:${PROVIDERS.failing}`;
    await console.command(`suspend ${PROVIDERS.failing}`);
    await console.until(`Suspend ${name}`);
    await console.press("esc");
    await console.until((screen) => !screen.includes("Suspend provider:"));
    await console.command("suspend no-such-thing");
    await console.until(/suspend: no .*provider.* is named no-such-thing/);
    await console.press("2", "d");
    await console.until(/ESC back|Esc back/i);
    await console.press("s");
    await console.until(`Suspend ${name}`);
    assert.deepEqual(
      endpoint.requests.filter(({ method }) => method !== "GET"),
      [],
    );
    await console.press("enter", "y");
    await console.until(`${name} suspended`);
    // The page is still open and shows it.
    await console.until(/state +SUSPENDED/);
    await console.press("u");
    await console.until(`${name} takes traffic again`);
    await console.press("y");
    await eventually("its end", async () => (await suspended()).length === 0);
  });

  test("a key and a request are found with : and their names", async (t) => {
    const console = await openConsole(t, { socket });
    await console.until("FAIL");
    await console.command(KEYS.unused);
    await console.until(new RegExp(`>${KEYS.unused}`));
    const { items } = await node.client.call("list_requests");
    const id = items.at(-1)?.id ?? "";
    await console.command(id);
    await console.until(/^┌─ Requests /m);
    await console.until(new RegExp(`request +${id}`));
  });

  test("o opens the filtered rows of all nodes and names the nodes it asked", async (t) => {
    const console = await openConsole(t, { socket });
    await console.until("FAIL");
    await console.press("2", "/");
    console.type("acme");
    await console.press("enter");
    await console.until("2 of 3");
    await console.press("o");
    await console.until(/2 rows of n1/);
    assert.match(console.screen(), /WHERE lower\(name\) LIKE '%acme%'/);
    assert.match(console.screen(), new RegExp(PROVIDERS.failing));
  });
}
