import { Phone } from "./phone.mjs";

/**
 * 200 sessions, ten of which print a line each second: the part of one slow core that the list takes of the page's main
 * thread. Beside a page with as many rows, of which ten get a new text each second.
 * @param {import("../support/scenario.mjs").Scenario} s
 */
export async function list(s) {
  for (let at = 0; at < SESSIONS; at += 1) {
    const script = at % (SESSIONS / CHANGING) === 0 ? TICKING : RESTING;
    await s.daemon.session(`session-${at}`, `printf 'started %s\\r\\n' ${at}; ${script}`);
  }
  const { phone, device } = await Phone.paired(s);
  await device.row(`session-${SESSIONS - 1}`).waitFor();
  const bare = await Phone.blank(s);
  await bare.page.setContent('<!doctype html><meta name="viewport" content="width=device-width"><ul></ul>');
  await bare.page.evaluate(rows, { sessions: SESSIONS, changing: CHANGING });
  const ours = [];
  const floor = [];
  for (const one of [phone, bare]) await one.slowDown();
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await seen(phone));
    floor.push(await seen(bare));
  }
  return { list: { ours, floor } };
}

/** The share while the page is the one that is seen. @param {Phone} phone */
async function seen(phone) {
  await phone.page.bringToFront();
  return phone.share(() => new Promise((resolve) => setTimeout(resolve, SECONDS * 1000)));
}

/** Runs in the page. @param {{ sessions: number, changing: number }} of */
function rows({ sessions, changing }) {
  const list = document.querySelector("ul");
  for (let at = 0; at < sessions; at += 1) list?.append(Object.assign(document.createElement("li"), { textContent: `session-${at}` }));
  const every = sessions / changing;
  let count = 0;
  setInterval(() => {
    count += 1;
    const row = list?.children[(count % changing) * every];
    if (row) row.textContent = `session, line ${count}`;
  }, 1000 / changing);
}

const SESSIONS = 200;
const CHANGING = 10;
const TICKING = "n=0; while :; do n=$((n + 1)); echo line $n; sleep 1; done";
const RESTING = "exec cat";
const ROUNDS = 3;
const SECONDS = 10;
