import { beforeEach, expect, test, vi } from "vitest";

/** A tab's storage, which its pages share one after the other. */
class Tab {
  readonly kept = new Map<string, string>();
  getItem = (name: string): string | null => this.kept.get(name) ?? null;
  setItem = (name: string, text: string): void => void this.kept.set(name, text);
  removeItem = (name: string): void => void this.kept.delete(name);
  key = (at: number): string | null => [...this.kept.keys()][at] ?? null;
  get length(): number {
    return this.kept.size;
  }
}

let tab: Tab;
let page: EventTarget & { visibilityState: string };

beforeEach(() => {
  tab = new Tab();
  vi.stubGlobal("sessionStorage", tab);
});

/** The module as another page of the tab loads it. */
async function load(): Promise<typeof import("./inputs")> {
  page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  vi.stubGlobal("document", page);
  vi.resetModules();
  const inputs = await import("./inputs");
  inputs.keepInputs();
  return inputs;
}

function turn(visibilityState: string): void {
  page.visibilityState = visibilityState;
  page.dispatchEvent(new Event("visibilitychange"));
}

test("a line that is not sent is there when the session is shown again, and after another load", async () => {
  const first = await load();
  first.draftOf("ses_1").value = "git comm";
  expect(first.draftOf("ses_1").value).toBe("git comm");
  expect(first.draftOf("ses_2").value).toBe("");
  turn("hidden");
  const second = await load();
  expect([second.draftOf("ses_1").value, tab.length]).toEqual(["git comm", 0]);
});

test("a page that is looked at keeps nothing, and a line that was sent is not kept", async () => {
  const inputs = await load();
  inputs.draftOf("ses_1").value = "ls";
  turn("hidden");
  turn("visible");
  expect(tab.length).toBe(0);
  inputs.draftOf("ses_1").value = "";
  turn("hidden");
  expect(tab.length).toBe(0);
});

test("the end of trust leaves nothing that was typed, whichever page typed it", async () => {
  const first = await load();
  for (const session of ["ses_1", "ses_2"]) {
    first.inputOf(session).add(new Uint8Array([97]), 1);
    first.draftOf(session).value = "secret";
  }
  tab.setItem("transom.tiles", "kept by others");
  turn("hidden");
  expect(tab.length).toBe(5);
  const second = await load();
  const shown = second.draftOf("ses_1");
  second.clearInputs();
  expect([...tab.kept.keys()]).toEqual(["transom.tiles"]);
  expect([shown.value, second.draftOf("ses_2").value]).toEqual(["", ""]);
});
