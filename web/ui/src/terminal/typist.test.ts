import { describe, expect, test } from "vitest";
import { encoded, type Press } from "./keys";
import { Typist, type FieldEvent, type Send } from "./typist";

/**
 * A text field with an on-screen keyboard at it: each call is one edit as a keyboard makes it, with the events that
 * browsers fire for it, in their order.
 */
class Field {
  /** Everything that the program got. */
  program = "";
  /** What a line editor would show of that. */
  line = "";
  value: string;
  readonly typist: Typist;
  private composed: { from: number } | null = null;

  constructor({ hardware = false, atOnce = false } = {}) {
    this.typist = new Typist({ takesCharacters: () => hardware, sends: (press) => bytesOf(press) !== null, wantsAtOnce: () => atOnce });
    this.value = this.typist.value;
  }

  /** `insertText` and the like, outside of a composition; replaces the last `back` units. */
  insert(text: string, { back = 0, inputType = "insertText", keydown = true } = {}): this {
    if (keydown) this.key(229);
    if (this.fire({ type: "beforeinput", inputType, value: this.value, isComposing: false })) return this;
    this.edit(this.value.slice(0, this.value.length - back) + text, false);
    return this;
  }

  /** A backspace of the on-screen keyboard. */
  backspace(units = 1): this {
    return this.insert("", { back: units, inputType: "deleteContentBackward" });
  }

  /** The composition, which begins where there is none, is this text now. `back`: it begins this much before the end. */
  compose(text: string, { back = 0 } = {}): this {
    this.key(229);
    this.composed ??= { from: this.value.length - back };
    this.fire({ type: "beforeinput", inputType: "insertCompositionText", value: this.value, isComposing: true });
    this.edit(this.value.slice(0, this.composed.from) + text, true);
    return this;
  }

  /** Ends the composition with this text, in the order of Chromium: the edit, then `compositionend`. */
  commit(text: string): this {
    if (!this.composed) throw new Error("nothing is composed");
    const { from } = this.composed;
    this.edit(this.value.slice(0, from) + text, true);
    this.composed = null;
    this.fire({ type: "compositionend", value: this.value });
    return this;
  }

  /** The same in the order of WebKit: the composition is deleted, the text inserted, and then it ends. */
  commitInWebKit(text: string): this {
    if (!this.composed) throw new Error("nothing is composed");
    const { from } = this.composed;
    this.edit(this.value.slice(0, from), true);
    this.edit(this.value.slice(0, from) + text, true);
    this.composed = null;
    this.fire({ type: "compositionend", value: this.value });
    this.key(229);
    return this;
  }

  /** The same in the order of Firefox: it ends, and an edit that changes nothing follows. */
  commitInFirefox(text: string): this {
    if (!this.composed) throw new Error("nothing is composed");
    this.value = this.value.slice(0, this.composed.from) + text;
    this.composed = null;
    this.fire({ type: "compositionend", value: this.value });
    this.edit(this.value, false);
    return this;
  }

  /** A key with a name, as hardware keyboards and the Enter of on-screen ones send it. */
  press(key: string, modifiers: Partial<Press> = {}): this {
    const press: Press = { key, code: "", shift: false, alt: false, ctrl: false, meta: false, altGraph: false, kind: "press", ...modifiers };
    const isTaken = this.fire({ type: "keydown", press, isForInputMethod: this.composed !== null });
    if (!isTaken && [...key].length === 1) this.insert(key, { keydown: false });
    if (!isTaken && key === "Backspace") this.insert("", { back: 1, inputType: "deleteContentBackward", keydown: false });
    return this;
  }

  fire(event: FieldEvent): boolean {
    const { sends, isTaken, value } = this.typist.take(event);
    for (const send of sends) this.receive(send);
    if (value !== null) this.value = value;
    return isTaken;
  }

  private key(code: 229): void {
    const press: Press = { key: "Unidentified", code: "", shift: false, alt: false, ctrl: false, meta: false, altGraph: false, kind: "press" };
    this.fire({ type: "keydown", press, isForInputMethod: this.composed !== null || code === 229 });
  }

  private edit(value: string, isComposing: boolean): void {
    this.value = value;
    this.fire({ type: "input", value, isComposing });
  }

  private receive(send: Send): void {
    const text = send.kind === "key" ? bytesOf(send.press) : send.kind === "paste" ? `<${send.text}>` : send.text;
    this.program += text ?? "";
    if (text === "\x7f") this.line = [...this.line].slice(0, -1).join("");
    else this.line += text ?? "";
  }
}

function bytesOf(press: Press): string | null {
  return encoded(press, { applicationCursor: false, kitty: 0, otherKeys: 0 });
}

describe("Gboard on Android", () => {
  test("a word is sent when a space ends it, once", () => {
    const field = new Field().compose("l").compose("ls");
    expect(field.program).toBe("");
    expect(field.typist.pending).toBe("ls");
    field.commit("ls").insert(" ");
    expect(field.program).toBe("ls ");
    expect(field.typist.pending).toBe("");
  });

  test("a suggestion that is tapped takes the place of what was composed", () =>
    expect(new Field().compose("helo").commit("hello").insert(" ").program).toBe("hello "));

  test("autocorrect at a space sends the corrected word alone", () =>
    expect(new Field().compose("teh").commit("the").insert(" ").program).toBe("the "));

  test("two spaces make a full stop", () => {
    const field = new Field().compose("done").commit("done").insert(" ").insert(". ", { back: 1 });
    expect(field.line).toBe("done. ");
    expect(field.program).toBe("done \x7f. ");
  });

  test("going back into a word and on in it erases and sends no letter twice", () => {
    const field = new Field().compose("hello").commit("hello").insert(" ").backspace();
    expect(field.line).toBe("hello");
    field.compose("hell", { back: 5 });
    expect(field.line).toBe("hell");
    field.compose("help").commit("help");
    expect(field.line).toBe("help");
    expect(field.program).toBe("hello \x7f\x7f\x7fp");
  });

  test("a word that is composed again and left as it was sends nothing", () =>
    expect(new Field().compose("word").commit("word").compose("word", { back: 4 }).commit("word").program).toBe("word"));

  test("Enter sends what was composed first", () =>
    expect(new Field().compose("ls").commit("ls").press("Enter").program).toBe("ls\r"));

  test("Enter as an edit is the same", () => {
    const field = new Field().compose("ls").commit("ls").insert("\n", { inputType: "insertLineBreak" });
    expect(field.program).toBe("ls\r");
    expect(field.compose("cd").commit("cd").program).toBe("ls\rcd");
  });

  test("a key of the bar sends what was composed first, and ends the composition", () => {
    const field = new Field().compose("gi");
    const { sends, value } = field.typist.flush();
    expect(sends).toEqual([{ kind: "text", text: "gi" }]);
    expect(value).toBe(new Field().value);
    field.value = value ?? "";
    expect(field.fire({ type: "compositionend", value: field.value })).toBe(false);
    expect(field.program).toBe("");
  });

  test("a clip of several lines is a paste, and one with a line end is typed", () => {
    expect(new Field().insert("one\ntwo\n").program).toBe("<one\ntwo\n>");
    expect(new Field().insert("one\n").program).toBe("one\r");
  });

  test("an emoji is one sign, and a backspace takes it away", () => {
    const field = new Field().insert("👍").backspace(2);
    expect(field.program).toBe("👍\x7f");
  });

  test("an emoji of joined signs is erased sign by sign, as line editors count", () =>
    expect(new Field().insert("👩‍👧").backspace(5).program).toBe("👩‍👧\x7f\x7f"));
});

describe("Samsung's keyboard", () => {
  test("a prediction goes on from a word that was committed already", () => {
    const field = new Field().compose("ech").commit("ech").compose("echo ", { back: 3 }).commit("echo ");
    expect(field.program).toBe("echo ");
  });

  test("a swiped word comes with its space", () =>
    expect(new Field().compose("hello").commit("hello").compose(" world").commit(" world").program).toBe("hello world"));

  test("a composition that is emptied sends nothing", () =>
    expect(new Field().compose("a").compose("").commit("").backspace().program).toBe("\x7f"));
});

describe("a held backspace", () => {
  test("erases in the program for as long as it is held, whatever the field holds", () => {
    const field = new Field().insert("ab");
    for (let at = 0; at < 50; at += 1) field.backspace();
    expect(field.program).toBe(`ab${"\x7f".repeat(50)}`);
  });

  test("that takes words erases as many signs as the words had", () => {
    const field = new Field().insert("git push").insert("", { back: 4, inputType: "deleteWordBackward" });
    expect(field.line).toBe("git ");
  });
});

describe("iOS", () => {
  test("autocorrect replaces a word that was sent", () => {
    const field = new Field();
    for (const letter of "teh") field.press(letter);
    field.insert("the", { back: 3, inputType: "insertReplacementText", keydown: false }).press(" ");
    expect(field.line).toBe("the ");
  });

  test("two spaces make a full stop", () => {
    const field = new Field().press("a").press(" ");
    field.insert(". ", { back: 1, inputType: "insertReplacementText", keydown: false });
    expect(field.line).toBe("a. ");
  });

  test("dictation that corrects itself leaves the last text", () => {
    const field = new Field().insert("right", { inputType: "insertText" }).insert("write a", { back: 5 }).insert("write a test", { back: 7 });
    expect(field.line).toBe("write a test");
  });

  test("Korean syllables grow without a composition", () => {
    const field = new Field().insert("ㅎ").insert("하", { back: 1 }).insert("한", { back: 1 });
    expect(field.line).toBe("한");
  });

  test("backspace is left to the field, which tells of it once", () =>
    expect(new Field().press("a").press("Backspace").program).toBe("a\x7f"));

  test("keys of a hardware keyboard at it are keys", () =>
    expect(new Field().press("c", { ctrl: true }).press("ArrowUp").press("Escape").program).toBe("\x03\x1b[A\x1b"));
});

describe("Chinese, Japanese and Korean input methods", () => {
  test("nothing of Pinyin is sent but the signs, in Chromium", () =>
    expect(new Field().compose("n").compose("ni").compose("ni'h").compose("ni'hao").commit("你好").program).toBe("你好"));

  test("and in WebKit", () => expect(new Field().compose("ni").compose("ni hao").commitInWebKit("你好").program).toBe("你好"));

  test("and in Firefox", () => expect(new Field().compose("nihao").commitInFirefox("你好").program).toBe("你好"));

  test("Japanese that is converted twice is sent once", () =>
    expect(new Field().compose("に").compose("にほん").compose("日本").compose("二本").commit("二本").program).toBe("二本"));

  test("a Korean syllable that takes the next one along is sent whole", () =>
    expect(new Field().compose("ㄱ").compose("가").compose("각").commit("가").compose("가").commit("가").program).toBe("가가"));

  test("Enter that confirms a conversion is not Enter for the program", () => {
    const field = new Field().compose("にほん").press("Enter");
    expect(field.program).toBe("");
    expect(field.commit("日本").program).toBe("日本");
  });

  test("a composition that is given up sends nothing", () => {
    expect(new Field().compose("ni").commit("").program).toBe("");
    expect(new Field().insert("a").compose("ni").commit("").program).toBe("a");
  });
});

describe("where letters are wanted at once", () => {
  test("each is sent as it is composed, and the composition begins anew", () => {
    const field = new Field({ atOnce: true }).compose("d");
    expect(field.program).toBe("d");
    expect(field.value).toBe(new Field().value);
    expect(field.fire({ type: "compositionend", value: field.value })).toBe(false);
    expect(field.program).toBe("d");
  });
});

describe("a hardware keyboard", () => {
  test("sends keys as keys", () => {
    const field = new Field({ hardware: true });
    for (const key of ["l", "s", "Backspace", "Enter"]) field.press(key);
    expect(field.program).toBe("ls\x7f\r");
    expect(field.value).toBe(new Field().value);
  });

  test("composes with dead keys", () =>
    expect(new Field({ hardware: true }).press("Dead").compose("´").commit("é").program).toBe("é"));

  test("leaves to the browser what the terminal has no use for", () => {
    const field = new Field({ hardware: true });
    const press = { key: "c", code: "KeyC", shift: false, alt: false, ctrl: false, meta: true, altGraph: false, kind: "press" } as const;
    expect(field.fire({ type: "keydown", press, isForInputMethod: false })).toBe(false);
  });

  test("types beside a selection that the widget has put into the field", () => {
    const field = new Field({ hardware: true });
    field.value = "selected text";
    expect(field.insert("🎉").program).toBe("🎉");
  });

  test("tells of a release only where it told of the press", () => {
    const seen: string[] = [];
    const typist = new Typist({ takesCharacters: () => true, sends: ({ kind, code }) => seen.push(`${kind} ${code}`) > 0, wantsAtOnce: () => false });
    const key = (kind: Press["kind"], code: string): Press => ({ key: "x", code, shift: false, alt: false, ctrl: false, meta: false, altGraph: false, kind });
    typist.take({ type: "keydown", press: key("press", "KeyX"), isForInputMethod: false });
    expect(typist.take({ type: "keyup", press: key("release", "KeyX") }).sends).toHaveLength(1);
    expect(typist.take({ type: "keyup", press: key("release", "KeyX") }).sends).toHaveLength(0);
    expect(seen).toEqual(["press KeyX", "release KeyX"]);
  });
});

test("leaving the field sends what was composed", () => {
  const field = new Field().compose("ls");
  field.fire({ type: "blur" });
  expect(field.program).toBe("ls");
});
