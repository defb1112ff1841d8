//! Servers that speak the API of OpenAI.
