import { DevicePage } from "./device/page";
import { GuestPage } from "./guest/page";
import { Home } from "./home/page";
import { verdict } from "./keys/access";
import { Pairing } from "./pairing/page";
import { route } from "./router";
import { strings } from "./strings";
import { SessionPage } from "./terminal/page";
import { Ended, HomeLink, Message } from "./ui/message";

/** The screen of the address; a device that is trusted no more sees that and nothing else, except to pair anew or as a guest. */
export function App() {
  const at = route.value;
  if (at.kind === "pair") return <Pairing />;
  if (at.kind === "guest") return <GuestPage />;
  if (verdict.value) return <Ended reason={verdict.value} />;
  if (at.kind === "home") return <Home />;
  if (at.kind === "device") return <DevicePage />;
  if (at.kind === "session") return <SessionPage key={at.id} id={at.id} />;
  const { title, text } = strings.ended.unknownPage;
  return (
    <Message kind="unknown_page" title={title} text={text}>
      <HomeLink />
    </Message>
  );
}
