const form = document.querySelector("#sign-in");
const wrong = document.querySelector("#wrong");

form.addEventListener("submit", async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    try {
        const response = await fetch("/api/v1/session", {
            method: "POST",
            headers: { "X-Dialectic": "1", "Content-Type": "application/json" },
            body: JSON.stringify({ token: document.querySelector("#token").value }),
        });
        if (response.ok) {
            location.assign(location.pathname);
            return;
        }
        wrong.textContent = (await response.json()).detail;
    } catch {
        wrong.textContent = "The server cannot be reached.";
    }
    wrong.hidden = false;
});
