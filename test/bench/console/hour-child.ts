/**
 * A console with minimal pauses between reads, so that the answers of an hour arrive in minutes. Its argument is a
 * socket.
 */

Reflect.set(process.env, "NODE_ENV", "production");
const { NO_SETTINGS, openConsole } = await import("../../../src/console/index.ts");

const nothing = async (): Promise<never> => {
  throw new Error("not in a bench");
};

const end = await openConsole({
  endpoints: [{ kind: "socket", path: process.argv[2] ?? "" }],
  ports: {
    verifyAudit: nothing,
    saveSnapshot: nothing,
    restoreSnapshot: nothing,
    secretIn: nothing,
    explainRequest: nothing,
    readDocument: nothing,
    editText: nothing,
    completePath: nothing,
    saveText: nothing,
    memory: { load: async () => "", save: async () => undefined },
    async *follow() {},
    documents: {
      packs: nothing,
      tryPack: nothing,
      tryThreshold: nothing,
      withRaisedVersion: nothing,
      stampOf: nothing,
      sweep: nothing,
      write: nothing,
    },
    runCommand: nothing,
    scrape: nothing,
  },
  env: process.env,
  settings: NO_SETTINGS,
  settingsText: undefined,
  theme: undefined,
  hasMouse: false,
  contexts: [],
  context: undefined,
  record: undefined,
  isReadOnly: false,
  isAscii: false,
  metricsUrl: undefined,
  auditFile: undefined,
  signal: new AbortController().signal,
  intervals: { pauseMs: 5, pauseFactor: 0, reportMs: 10 },
});
process.exitCode = end.kind === "left" ? 0 : 1;
