import "uplot/dist/uPlot.min.css";
import "./app.css";
import { render } from "preact";
import { useState } from "preact/hooks";
import { useToken } from "./api.ts";
import { FloorScreen } from "./floor_screen.tsx";
import { GroupScreen } from "./group_screen.tsx";
import { HealthScreen } from "./health_screen.tsx";
import { PaceScreen, RoomScreen } from "./other_screens.tsx";
import { TimeScreen } from "./time_screen.tsx";
import { health, link, refusal, route, run } from "./store.ts";
import { WhyScreen } from "./why_screen.tsx";

const screens = [
  { id: "floor", title: "Floor", show: FloorScreen }, { id: "why", title: "Why and when", show: WhyScreen },
  { id: "group", title: "Groups", show: GroupScreen }, { id: "time", title: "Time", show: TimeScreen }, { id: "room", title: "Room", show: RoomScreen },
  { id: "health", title: "Health", show: HealthScreen }, { id: "pace", title: "Pace", show: PaceScreen },
];
const links = { connecting: "connecting", live: "live", lost: "not connected, trying", refused: "refused" };

function SignIn() {
  const [token, setToken] = useState("");
  return (
    <main class="sign-in">
      <h1>Berth</h1>
      <p>{refusal.value}</p>
      <p>Open the link that the process printed. <code>kubectl get --raw /berth/v1alpha1/link</code> makes another one.</p>
      <form onSubmit={(event) => { event.preventDefault(); useToken(token); location.reload(); }}>
        <label>On a cluster: a token of a user who may read the dashboard
          <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <button type="submit">Go on</button>
      </form>
    </main>
  );
}

function App() {
  if (link.value === "refused") return <SignIn />;
  const shown = screens.find((screen) => screen.id === route.value.screen) ?? screens[0];
  const Screen = shown.show;
  document.title = `${shown.title} · Berth`;
  return (
    <>
      <header>
        <a class="brand" href="#/floor"><img src="icon.svg" alt="" width="22" height="22" />Berth</a>
        <nav aria-label="Screens">
          {screens.map((screen) => <a key={screen.id} href={`#/${screen.id}`} aria-current={screen === shown ? "page" : undefined}>{screen.title}{screen.id === "health" && (health.value?.total ?? 0) > 0 && <span class="badge">{health.value!.total}</span>}</a>)}
        </nav>
        <span class={`live live-${link.value}`} role="status">{links[link.value]}</span>
      </header>
      <main><Screen /></main>
    </>
  );
}

render(<App />, document.getElementById("app")!);
void run();
