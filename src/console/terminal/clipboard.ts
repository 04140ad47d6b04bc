/**
 * Copying to the clipboard of the machine that displays the terminal: OSC 52 (XTerm Control Sequences, "Operating System
 * Commands"). Terminals may ignore it, so the copied text is also shown.
 */

/** Maximum length of the text in base64. Some terminals truncate a longer one, which is worse than copying nothing. */
export const MAX_CLIPBOARD_LENGTH = 74_994;

interface ClipboardOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the output for the terminal; `undefined` if the text is too long. */
export function osc52(text: string, { env }: ClipboardOptions): string | undefined {
  const encoded = Buffer.from(text, "utf8").toString("base64");
  if (encoded.length > MAX_CLIPBOARD_LENGTH) return undefined;
  const sequence = `\u001b]52;c;${encoded}\u0007`;
  // tmux passes on a sequence inside its own DCS, with each ESC doubled.
  return (env["TMUX"] ?? "") === "" ? sequence : `\u001bPtmux;${sequence.replaceAll("\u001b", "\u001b\u001b")}\u001b\\`;
}
