"""What people are told, in English and Chinese: tables of words, and which of them to use."""
