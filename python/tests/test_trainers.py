# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The callbacks for Lightning and Hugging Face, with the real packages: a run that is cut off resumes to the bit."""

import os
import unittest
import warnings

import crochet

from test_read import InFolder, has

os.environ.setdefault("HF_HUB_OFFLINE", "1")


class CutOff(Exception):
    """Stands for the end of the process."""


class LightningTest(InFolder):
    @has("lightning")
    def test_resumes_to_the_bit(self):
        import lightning.pytorch as pl
        import torch

        from crochet.lightning import Checkpoint

        class Net(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))

            def training_step(self, batch, _):
                loss = (self.layers(batch[0]) - batch[1]).square().mean()
                self.log("loss", loss)
                return loss

            def configure_optimizers(self):
                adam = torch.optim.Adam(self.parameters(), lr=0.01)
                return {"optimizer": adam, "lr_scheduler": torch.optim.lr_scheduler.StepLR(adam, 2)}

        class Cut(pl.Callback):
            def __init__(self, at):
                self.at = at

            def on_train_batch_start(self, trainer, *_):
                if trainer.global_step == self.at:
                    raise CutOff

        def train(folder, seed, cut_at=-1):
            pl.seed_everything(0, verbose=False)
            torch.manual_seed(seed)
            x = torch.arange(80.0).reshape(20, 4) / 80
            data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
            loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
            checkpoint = Checkpoint(folder, every_n_steps=5)
            trainer = pl.Trainer(
                max_epochs=6, callbacks=[checkpoint, Cut(cut_at)], enable_checkpointing=False, logger=False,
                enable_progress_bar=False, enable_model_summary=False, accelerator="cpu", devices=1,
            )
            net = Net()
            trainer.fit(net, loader, ckpt_path=checkpoint.path)
            return trainer, [p.detach().clone() for p in net.parameters()]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaises(CutOff):
                train("cut", 1, cut_at=17)
            self.assertEqual(crochet.open("cut").step, 15)
            trainer, resumed = train("cut", 2)
            self.assertEqual(trainer.global_step, 30)
            _, straight = train("straight", 1)
        for a, b in zip(resumed, straight):
            self.assertTrue(torch.equal(a, b))
        self.assertIn("lightning/state_dict/layers.0.weight", crochet.open("cut"))


class TransformersTest(InFolder):
    @has("transformers")
    def test_resumes_to_the_bit(self):
        import torch
        import transformers

        from crochet.transformers import Checkpoint

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))

            def forward(self, x, labels):
                y = self.layers(x)
                return {"loss": (y - labels).square().mean(), "y": y}

        class Cut(transformers.TrainerCallback):
            def __init__(self, at):
                self.at = at

            def on_step_begin(self, args, state, control, **more):
                if state.global_step == self.at:
                    raise CutOff

        def train(folder, strategy="no", resume_from=None, cut_at=-1):
            torch.manual_seed(1)
            x = torch.arange(80.0).reshape(20, 4) / 80
            data = [{"x": row, "labels": row.sum(0, keepdim=True)} for row in x]
            checkpoint = Checkpoint(folder, every_n_steps=8)
            args = transformers.TrainingArguments(
                output_dir=f"{folder}/own", num_train_epochs=6, per_device_train_batch_size=4, save_strategy=strategy,
                save_steps=8, report_to=[], use_cpu=True, disable_tqdm=True, logging_strategy="no", seed=3,
            )
            trainer = transformers.Trainer(Net(), args, train_dataset=data, callbacks=[checkpoint, Cut(cut_at)])
            torch.manual_seed(1)  # From which it draws the order of the data.
            try:
                with checkpoint.folder() as found:
                    trainer.train(resume_from_checkpoint=resume_from or found)
            except CutOff:
                checkpoint.close()
            return trainer, [p.detach().clone() for p in trainer.model.parameters()]

        train("cut", cut_at=12)
        self.assertEqual(crochet.open("cut").step, 8)  # In the middle of an epoch.
        trainer, resumed = train("cut")
        self.assertEqual(trainer.state.global_step, 30)
        _, straight = train("straight", strategy="steps")
        # As from the Trainer's own checkpoint.
        _, own = train("other", resume_from="straight/own/checkpoint-8")
        for a, b, c in zip(resumed, own, straight):
            self.assertTrue(torch.equal(a, b))
            self.assertTrue(torch.equal(a, c))
        self.assertIn("model/layers.0.weight", crochet.open("cut"))


if __name__ == "__main__":
    unittest.main()
