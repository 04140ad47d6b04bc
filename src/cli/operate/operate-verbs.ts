/** Verbs that monitor and change a running gateway, as entries of the verb table. */

import {
  ackFlags,
  configApplyFlags,
  configDiffFlags,
  configRollbackFlags,
  explainFlags,
  getFlags,
  liftFlags,
  mintFlags,
  plainFlags,
  rehearseFlags,
  removeFlags,
  rotateFlags,
  statusFlags,
  stepDownFlags,
  suspendFlags,
  unackFlags,
  waitFlags,
} from "./operate-flags.ts";

/** Allows flags before and after the arguments of these verbs, since nobody remembers an order at 3 a.m. */
const isInterleaved = true as const;

export const OPERATE_VERBS = [
  {
    name: "status",
    group: "operate",
    summary: "show nodes, leader and alerts, worst first",
    description:
      "Prints the members of the cluster, whether the queried node serves, and the alerts of the console's overview, " +
      "worst first. The status is 1 when the node cannot serve, or when a failing alert is not acknowledged.",
    flags: statusFlags,
    positionals: { usage: "", min: 0, max: 0 },
  },
  {
    name: "get",
    group: "operate",
    summary: "print a list: keys, providers, budgets, requests ...",
    description:
      "Prints the rows of a list of the admin API; without LIST it names the lists. One NAME prints the whole record. " +
      "-where selects rows and -columns columns; -watch continues and prints changed rows. The status is 1 when a " +
      "NAME does not exist.",
    flags: getFlags,
    positionals: { usage: "[LIST [NAME...]]", min: 0, max: 100, suggestions: "lists" },
    isInterleaved,
  },
  {
    name: "explain",
    group: "operate",
    summary: "show what decided a request",
    description:
      "Prints the caller of a request, the rule, budget, guardrail and provider that decided it, its times, and its " +
      "audit records, from whichever node served it. REQUEST-ID is the header x-gateway-request-id of the answer. " +
      "Nodes remember only their last requests.",
    flags: explainFlags,
    positionals: { usage: "REQUEST-ID", min: 1, max: 1 },
    isInterleaved,
  },
  {
    name: "rehearse",
    group: "operate",
    summary: "test a change on the requests of the last hour",
    description:
      "Tests a deployment document on the recent requests of all nodes and writes nothing. Prints which requests " +
      "would be refused or routed elsewhere, whose they are, and for which requests the result is unknown and why. " +
      "Without FILE, -set changes one setting of the stored document. '-' reads stdin. The status is 1 when a request " +
      "that was served would be refused.",
    flags: rehearseFlags,
    positionals: { usage: "[FILE]", min: 0, max: 1, areFiles: true },
    isInterleaved,
  },
  {
    name: "wait",
    group: "operate",
    summary: "wait until a node is ready or has drained",
    description:
      "Waits until all conditions are true at once: ready (the node serves), leader (it knows a leader), applied (it " +
      "has applied all acknowledged writes), quiet (it has no call in flight). A node that does not answer is tried " +
      "again. The status is 1 after the timeout, and 3 when the node could not be reached at the end.",
    flags: waitFlags,
    positionals: { usage: "CONDITION...", min: 1, max: 4, suggestions: "conditions" },
    isInterleaved,
  },
  {
    name: "suspend",
    group: "incident",
    summary: "suspend a provider, key, model, server or agent",
    description:
      "Refuses or reroutes its traffic on every node until the suspension is lifted or ends. Shows what is affected, " +
      "asks for confirmation, and reports the nodes on which the suspension is in force. KIND is provider, key, " +
      "profile, model, mcp, a2a or issuer.",
    flags: suspendFlags,
    positionals: { usage: "KIND:NAME", min: 1, max: 1, names: "suspendable" },
    isInterleaved,
  },
  {
    name: "lift",
    group: "incident",
    summary: "lift a suspension",
    description: "Lets a suspended provider, key, model, server or agent take traffic again, on every node.",
    flags: liftFlags,
    positionals: { usage: "KIND:NAME", min: 1, max: 1, names: "suspensions" },
    isInterleaved,
  },
  {
    name: "keys mint",
    group: "incident",
    summary: "mint a virtual key and print its text",
    description:
      "Prints the text of the new key on stdout, which is the only time it is shown. Everything else goes to stderr, " +
      "so that KEY=$(gateway keys mint ci) works.",
    flags: mintFlags,
    positionals: { usage: "NAME", min: 1, max: 1 },
    isInterleaved,
  },
  {
    name: "keys rotate",
    group: "incident",
    summary: "give a virtual key a new text",
    description:
      "The old text is refused at once, on every node. The new text is printed on stdout, which is the only time it " +
      "is shown.",
    flags: rotateFlags,
    positionals: { usage: "NAME", min: 1, max: 1, names: "keys" },
    isInterleaved,
  },
  {
    name: "keys revoke",
    group: "incident",
    summary: "revoke virtual keys permanently",
    description:
      "Requests with the keys are refused at once, on every node. This cannot be undone; 'gateway suspend key:NAME' " +
      "can.",
    flags: removeFlags,
    positionals: { usage: "NAME...", min: 1, max: 100, names: "keys" },
    isInterleaved,
  },
  {
    name: "keys find",
    group: "incident",
    summary: "find the virtual key that a leaked text belongs to",
    description:
      "Reads the text from the argument or stdin, and prints the key whose public id it contains. The text stays on " +
      "this machine. The status is 1 when it is not a key of this gateway.",
    flags: plainFlags,
    positionals: { usage: "[TEXT|-]", min: 0, max: 1 },
    isInterleaved,
  },
  {
    name: "secrets put",
    group: "incident",
    summary: "create a sealed secret, or replace its value",
    description:
      "Reads the value from stdin, without its last line end; on a terminal the input is not shown. A configuration " +
      "refers to it as ${secret:NAME}.",
    flags: plainFlags,
    positionals: { usage: "NAME", min: 1, max: 1, names: "secrets" },
    isInterleaved,
  },
  {
    name: "secrets list",
    group: "incident",
    summary: "list the sealed secrets, without their values",
    description: "Prints name, version, time and wrapping key of each, as 'gateway get secrets' does.",
    flags: getFlags,
    positionals: { usage: "", min: 0, max: 0 },
    isInterleaved,
  },
  {
    name: "secrets delete",
    group: "incident",
    summary: "delete a sealed secret",
    description:
      "Shows where the configuration refers to the secret, asks for confirmation, and deletes it on every node. This " +
      "cannot be undone.",
    flags: removeFlags,
    positionals: { usage: "NAME", min: 1, max: 1, names: "secrets" },
    isInterleaved,
  },
  {
    name: "ack",
    group: "incident",
    summary: "acknowledge an alert for a time",
    description:
      "Hides an alert of 'gateway status' and of the console for every operator, until the time has passed or the " +
      "alert gets worse. ALERT is its name, such as provider:openai.",
    flags: ackFlags,
    positionals: { usage: "ALERT", min: 1, max: 1, names: "alerts" },
    isInterleaved,
  },
  {
    name: "unack",
    group: "incident",
    summary: "show an acknowledged alert again",
    description: "Lifts an acknowledgement: the alert is shown to every operator again.",
    flags: unackFlags,
    positionals: { usage: "ALERT", min: 1, max: 1, names: "acknowledgements" },
    isInterleaved,
  },
  {
    name: "config show",
    group: "incident",
    summary: "show the configuration sources, or the document of one",
    description:
      "Prints the sources with their revisions, and whether the file of the node matches what is stored. With SOURCE " +
      "it prints the document of that source as written.",
    flags: plainFlags,
    positionals: { usage: "[SOURCE]", min: 0, max: 1, names: "sources" },
    isInterleaved,
  },
  {
    name: "config diff",
    group: "incident",
    summary: "show what a document would change",
    description:
      "Compiles the document as the gateway would, and prints the changed settings and the changed lines. Writes " +
      "nothing. '-' reads stdin. The status is 1 when there are differences, or when the document would be refused.",
    flags: configDiffFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
    isInterleaved,
  },
  {
    name: "config apply",
    group: "incident",
    summary: "apply a document to the whole cluster",
    description:
      "Prints what the document would change, asks for confirmation, and writes it as the newest revision, unless the " +
      "source was changed in the meantime. '-' reads stdin. If the node file names a deployment document, use " +
      "'gateway config reload' instead.",
    flags: configApplyFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
    isInterleaved,
  },
  {
    name: "config history",
    group: "incident",
    summary: "list the revisions of a configuration source",
    description: "Prints the stored revisions with their authors, newest first.",
    flags: configDiffFlags,
    positionals: { usage: "", min: 0, max: 0 },
    isInterleaved,
  },
  {
    name: "config rollback",
    group: "incident",
    summary: "make an earlier revision the newest",
    description:
      "Prints what going back would change, asks for confirmation, and writes the earlier revision as the newest.",
    flags: configRollbackFlags,
    positionals: { usage: "REVISION", min: 1, max: 1 },
    isInterleaved,
  },
  {
    name: "config edit",
    group: "incident",
    summary: "edit a configuration source in $EDITOR",
    description:
      "Opens the document in $VISUAL or $EDITOR, prints what the edited document would change, asks for confirmation, " +
      "and applies it. A document that would be refused can be edited again.",
    flags: plainFlags,
    positionals: { usage: "[SOURCE]", min: 0, max: 1, names: "sources" },
    isInterleaved,
  },
  {
    name: "config reload",
    group: "incident",
    summary: "apply the deployment document of the node file",
    description:
      "Shows how the file differs from the running configuration, asks for confirmation, and applies it to the whole " +
      "cluster.",
    flags: configRollbackFlags,
    positionals: { usage: "", min: 0, max: 0 },
  },
  {
    name: "cluster step-down",
    group: "keep",
    summary: "hand leadership over before a node stops",
    description:
      "Hands leadership over to the most advanced voting member if the node asked leads. Otherwise it changes nothing, so the " +
      "hook that stops a node can always run it. A node that receives SIGTERM does the same at the end of its drain.",
    flags: stepDownFlags,
    positionals: { usage: "", min: 0, max: 0 },
  },
] as const;
