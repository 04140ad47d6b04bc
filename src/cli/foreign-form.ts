/** Recognizes files that cannot be read as lines of JSON, by their first bytes. */

interface Form {
  readonly magic: Buffer;
  readonly what: string;
  /** Command that writes the text of the file to stdout. */
  readonly reader: string;
}

const form = (magic: readonly number[], what: string, reader: string): Form => ({
  magic: Buffer.from(magic),
  what,
  reader,
});

/** Sources: RFC 1952, RFC 8878, and the format descriptions of xz and bzip2. Byte order marks: Unicode, section 23.8. */
const FORMS: readonly Form[] = [
  form([0x1f, 0x8b], "compressed with gzip", "gunzip -c"),
  form([0x28, 0xb5, 0x2f, 0xfd], "compressed with Zstandard", "zstd -dc"),
  form([0xfd, 0x37, 0x7a, 0x58, 0x5a], "compressed with xz", "xz -dc"),
  form([0x42, 0x5a, 0x68], "compressed with bzip2", "bzip2 -dc"),
  form([0xff, 0xfe], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
  form([0xfe, 0xff], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
];

/** Returns what a file with these first bytes is, and the command that turns it into text; `undefined` for a text. */
export function foreignForm(head: Uint8Array): Pick<Form, "what" | "reader"> | undefined {
  return FORMS.find(({ magic }) => magic.equals(head.subarray(0, magic.length)));
}
